/* Algorithm 1 on the mountain car with tile coding, no tile wrapping around. */
#define ACTIONS 3
#include "algorithm1.h"

enum { DIMENSIONS = 2, MOST_TILINGS = 64 };

/* (low, scale) per dimension, displacements (dimension, tiling), and a tiling's numbering. */
typedef struct {
    const double *low, *scale;
    const int64_t *parts, *displaced, *strides;
    int64_t tilings, each;
} Tiles;

static inline void encode(const Tiles *tiles, const double *seen, int64_t *restrict active) {
    for (int64_t t = 0; t < tiles->tilings; t++) active[t] = t * tiles->each;
    for (int d = 0; d < DIMENSIONS; d++) {
        double position = (seen[d] - tiles->low[d]) * tiles->scale[d];
        int64_t part = position < 0.0 ? 0
                       : position >= (double)tiles->parts[d] ? tiles->parts[d] - 1
                                                             : (int64_t)position;
        int64_t tile = part / tiles->tilings, left = part - tile * tiles->tilings;
        const int64_t *displaced = tiles->displaced + d * tiles->tilings;
        for (int64_t t = 0; t < tiles->tilings; t++)
            active[t] += (tile + (left + displaced[t] >= tiles->tilings)) * tiles->strides[d];
    }
}

static inline double clipped(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

/* Returns the number of steps taken, or −1 if the weights overflowed. */
int64_t mountain_car(const double *low, const double *scale, const int64_t *parts,
                     const int64_t *displaced, const int64_t *strides, int64_t tilings,
                     int64_t each, double value_step, double model_step, double epsilon,
                     double discount, int64_t planning_steps, int64_t capacity, int64_t episodes,
                     int64_t step_limit, const uint64_t *seed, double *returns) {
    Tiles tiles = {low, scale, parts, displaced, strides, tilings, each};
    Learner learner = new_learner(tilings * each, tilings, value_step, model_step, epsilon,
                                  discount, planning_steps, capacity, seed);
    int64_t state[MOST_TILINGS] = {0}, next[MOST_TILINGS] = {0}, steps = 0;
    for (int64_t episode = 0; episode < episodes; episode++) {
        double car[DIMENSIONS] = {-0.6 + (-0.4 - -0.6) * uniform(&learner.world), 0.0};
        double total = 0.0, alive = 1.0;
        encode(&tiles, car, state);
        for (int64_t time = 0; alive > 0.0 && time < step_limit; time++) {
            int64_t action = act(&learner.agent, state, epsilon, &learner.acting);
            double pull = cos(3.0 * car[0]) * -0.0025;
            car[1] = clipped(car[1] + ((double)(action - 1) * 0.001 + pull), -0.07, 0.07);
            car[0] = clipped(car[0] + car[1], -1.2, 0.6);
            if (car[0] == -1.2 && car[1] < 0.0) car[1] = 0.0;
            if (car[0] >= 0.5 && car[1] >= 0.0) alive = 0.0;
            if (alive > 0.0) encode(&tiles, car, next);
            total -= 1.0;
            steps++;
            double errors = learn_and_plan(&learner, state, action, -1.0, next, alive);
            if (!isfinite(errors)) { free_learner(&learner); return -1; }
            memcpy(state, next, (size_t)tilings * sizeof(int64_t));
        }
        returns[episode] = total;
    }
    free_learner(&learner);
    return steps;
}
