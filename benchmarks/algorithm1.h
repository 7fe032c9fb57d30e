/* Algorithm 1, written for speed by hand: what the compiled Python is held against.
 *
 * It draws the same random numbers (PCG64, a stream each for the world, for acting and for planning)
 * in the same order and adds in the same order as the
 * library, so both must arrive at the same returns. A world defines ACTIONS and includes this.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 8 };

typedef unsigned __int128 uint128;
typedef struct { uint128 state, increment; } Random;

static const uint128 MULTIPLIER =
    ((uint128)2549297995355413924ULL << 64) | 4865540595714422341ULL;

static inline double uniform(Random *random) {
    random->state = random->state * MULTIPLIER + random->increment;
    uint64_t mixed = (uint64_t)(random->state >> 64) ^ (uint64_t)random->state;
    unsigned turn = (unsigned)(random->state >> 122);
    uint64_t bits = (mixed >> turn) | (mixed << ((-turn) & 63));
    return (double)(bits >> 11) * (1.0 / 9007199254740992.0);
}

typedef struct {
    int64_t size, width, active;
    double *weights, *rewards, *rows, *error; /* rows: (ACTIONS, size, width) */
    double discount;
} Agent;

static inline double sparse_dot(const double *restrict x, const int64_t *restrict active, int64_t k) {
    double total = 0.0;
    for (int64_t n = 0; n < k; n++) total += x[active[n]];
    return total;
}

static inline double fold(const double *t) {
    return ((t[0] + t[4]) + (t[2] + t[6])) + ((t[1] + t[5]) + (t[3] + t[7]));
}

static inline double look_ahead(const Agent *agent, const int64_t *restrict active, int64_t action) {
    const int64_t width = agent->width, k = agent->active;
    const double *restrict weights = agent->weights;
    const double *restrict rows = agent->rows + action * agent->size * width;
    double total[LANES] = {0};
    for (int64_t i = 0; i < width; i += LANES) {
        double sum[LANES] = {0};
        for (int64_t n = 0; n < k; n++) {
            const double *restrict row = rows + active[n] * width + i;
            for (int lane = 0; lane < LANES; lane++) sum[lane] += row[lane];
        }
        for (int lane = 0; lane < LANES; lane++) total[lane] += sum[lane] * weights[i + lane];
    }
    double reward = sparse_dot(agent->rewards + action * width, active, k);
    return reward + agent->discount * fold(total);
}

static inline double move_values(Agent *agent, const int64_t *active, double target, double step) {
    double error = target - sparse_dot(agent->weights, active, agent->active);
    double change = step * error;
    for (int64_t n = 0; n < agent->active; n++) agent->weights[active[n]] += change;
    return error;
}

static inline double fit(Agent *agent, const int64_t *state, int64_t action, double reward,
                         const int64_t *next, double alive, double step) {
    const int64_t width = agent->width, k = agent->active;
    double *restrict rows = agent->rows + action * agent->size * width;
    double *restrict rewards = agent->rewards + action * width;
    double *restrict error = agent->error;
    double surprise = reward - sparse_dot(rewards, state, k);
    memset(error, 0, (size_t)width * sizeof(double));
    for (int64_t n = 0; n < k; n++) {
        const double *restrict row = rows + state[n] * width;
        for (int64_t i = 0; i < width; i++) error[i] += row[i];
    }
    for (int64_t i = 0; i < width; i++) error[i] = -error[i];
    for (int64_t n = 0; n < k; n++) error[next[n]] += alive;
    for (int64_t n = 0; n < k; n++) {
        double *restrict row = rows + state[n] * width;
        rewards[state[n]] += step * surprise;
        for (int64_t i = 0; i < width; i++) row[i] += step * error[i];
    }
    double total[LANES] = {0};
    for (int64_t i = 0; i < width; i += LANES)
        for (int lane = 0; lane < LANES; lane++) total[lane] += error[i + lane] * error[i + lane];
    return fabs(surprise) + fold(total);
}

static inline int64_t act(const Agent *agent, const int64_t *state, double epsilon, Random *random) {
    if (uniform(random) < epsilon) return (int64_t)(uniform(random) * ACTIONS);
    int64_t chosen = 0, ties = 1;
    double best = -INFINITY;
    for (int64_t action = 0; action < ACTIONS; action++) {
        double value = look_ahead(agent, state, action);
        if (value > best) {
            best = value, chosen = action, ties = 1;
        } else if (value == best) {
            ties++;
            if (uniform(random) * (double)ties < 1.0) chosen = action;
        }
    }
    return chosen;
}

typedef struct {
    int64_t capacity, stored, slot;
    int64_t *states, *next_states, *actions;
    double *rewards, *alive;
} Replay;

typedef struct {
    Agent agent;
    Replay replay;
    Random world, acting, planning;
    double value_step, model_step, epsilon;
    int64_t planning_steps;
} Learner;

static inline Random stream(const uint64_t *seed) {
    return (Random){((uint128)seed[0] << 64) | seed[1], ((uint128)seed[2] << 64) | seed[3]};
}

static inline Learner new_learner(int64_t size, int64_t active, double value_step, double model_step,
                                  double epsilon, double discount, int64_t planning_steps,
                                  int64_t capacity, const uint64_t *seed) {
    const int64_t width = (size + LANES - 1) / LANES * LANES;
    Learner made = {{size, width, active, NULL, NULL, NULL, NULL, discount},
                    {capacity, 0, 0, NULL, NULL, NULL, NULL, NULL},
                    stream(seed), stream(seed + 4), stream(seed + 8),
                    value_step, model_step, epsilon, planning_steps};
    made.agent.weights = calloc((size_t)width, sizeof(double));
    made.agent.rewards = calloc((size_t)(ACTIONS * width), sizeof(double));
    made.agent.rows = calloc((size_t)(ACTIONS * size * width), sizeof(double));
    made.agent.error = calloc((size_t)width, sizeof(double));
    made.replay.states = calloc((size_t)(capacity * active), sizeof(int64_t));
    made.replay.next_states = calloc((size_t)(capacity * active), sizeof(int64_t));
    made.replay.actions = calloc((size_t)capacity, sizeof(int64_t));
    made.replay.rewards = calloc((size_t)capacity, sizeof(double));
    made.replay.alive = calloc((size_t)capacity, sizeof(double));
    return made;
}

static inline void free_learner(Learner *learner) {
    Agent *agent = &learner->agent;
    Replay *replay = &learner->replay;
    free(agent->weights), free(agent->rewards), free(agent->rows), free(agent->error);
    free(replay->states), free(replay->next_states), free(replay->actions);
    free(replay->rewards), free(replay->alive);
}

/* One real transition and the planning after it; returns the size of the errors. */
static inline double learn_and_plan(Learner *learner, const int64_t *state, int64_t action,
                                    double reward, const int64_t *next, double alive) {
    Agent *agent = &learner->agent;
    Replay *replay = &learner->replay;
    const int64_t active = agent->active;
    double future = alive * sparse_dot(agent->weights, next, active);
    double target = reward + agent->discount * future;
    double errors = fabs(move_values(agent, state, target, learner->value_step));
    const int64_t slot = replay->slot;
    memcpy(replay->states + slot * active, state, (size_t)active * sizeof(int64_t));
    memcpy(replay->next_states + slot * active, next, (size_t)active * sizeof(int64_t));
    replay->actions[slot] = action;
    replay->rewards[slot] = reward;
    replay->alive[slot] = alive;
    replay->slot = slot + 1 < replay->capacity ? slot + 1 : 0;
    if (replay->stored < replay->capacity) replay->stored++;
    errors += fit(agent, state, action, reward, next, alive, learner->model_step);
    for (int64_t backup = 0; backup < learner->planning_steps; backup++) {
        int64_t row = (int64_t)(uniform(&learner->planning) * (double)replay->stored);
        const int64_t *drawn = replay->states + row * active;
        double best = -INFINITY;
        for (int64_t a = 0; a < ACTIONS; a++) {
            double value = look_ahead(agent, drawn, a);
            if (value > best) best = value;
        }
        errors += fabs(move_values(agent, drawn, best, learner->value_step));
    }
    return errors;
}
