/* Algorithm 1 on the corridor, written for speed by hand: what the compiled Python is held against.
 *
 * It draws the same random numbers (PCG64) in the same order and adds in the same order as the
 * library, so both must arrive at the same returns.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 8, LEFT = 0, RIGHT = 1, ACTIONS = 2 };

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

/* Returns the number of steps taken, or −1 if the weights overflowed. */
int64_t algorithm1(int64_t cells, double slip, int64_t switch_every, int64_t size, int64_t active,
                   const int64_t *features, double value_step, double model_step, double epsilon,
                   double discount, int64_t planning_steps, int64_t capacity, int64_t episodes,
                   int64_t step_limit, const uint64_t *seed, double *returns) {
    const int64_t width = (size + LANES - 1) / LANES * LANES;
    Random random = {((uint128)seed[0] << 64) | seed[1], ((uint128)seed[2] << 64) | seed[3]};
    Agent agent = {size, width, active, NULL, NULL, NULL, NULL, discount};
    agent.weights = calloc((size_t)width, sizeof(double));
    agent.rewards = calloc((size_t)(ACTIONS * width), sizeof(double));
    agent.rows = calloc((size_t)(ACTIONS * size * width), sizeof(double));
    agent.error = calloc((size_t)width, sizeof(double));
    int64_t *replay = calloc((size_t)(capacity * active), sizeof(int64_t));
    int64_t *replay_next = calloc((size_t)(capacity * active), sizeof(int64_t));
    int64_t *replay_action = calloc((size_t)capacity, sizeof(int64_t));
    double *replay_reward = calloc((size_t)capacity, sizeof(double));
    double *replay_alive = calloc((size_t)capacity, sizeof(double));
    int64_t stored = 0, slot = 0, steps = 0;
    for (int64_t episode = 0; episode < episodes; episode++) {
        const int goal = (episode / switch_every) % 2 == 0 ? RIGHT : LEFT;
        int64_t cell = (int64_t)(uniform(&random) * (double)cells);
        double total = 0.0, alive = 1.0;
        for (int64_t time = 0; alive > 0.0 && time < step_limit; time++) {
            const int64_t *state = features + cell * active;
            int64_t action = act(&agent, state, epsilon, &random);
            int64_t direction = uniform(&random) < 1.0 - slip ? action : 1 - action;
            int64_t target = direction == RIGHT ? cell + 1 : cell - 1;
            double reward = -1.0;
            if (target < 0 || target >= cells) {
                reward = direction == goal ? 20.0 : 0.0;
                alive = 0.0;
            }
            const int64_t *next = alive > 0.0 ? features + target * active : state;
            total += reward;
            steps++;
            double future = alive * sparse_dot(agent.weights, next, active);
            double errors =
                fabs(move_values(&agent, state, reward + discount * future, value_step));
            memcpy(replay + slot * active, state, (size_t)active * sizeof(int64_t));
            memcpy(replay_next + slot * active, next, (size_t)active * sizeof(int64_t));
            replay_action[slot] = action;
            replay_reward[slot] = reward;
            replay_alive[slot] = alive;
            slot = slot + 1 < capacity ? slot + 1 : 0;
            if (stored < capacity) stored++;
            errors += fit(&agent, state, action, reward, next, alive, model_step);
            for (int64_t backup = 0; backup < planning_steps; backup++) {
                const int64_t *drawn =
                    replay + (int64_t)(uniform(&random) * (double)stored) * active;
                double best = -INFINITY;
                for (int64_t a = 0; a < ACTIONS; a++) {
                    double value = look_ahead(&agent, drawn, a);
                    if (value > best) best = value;
                }
                errors += fabs(move_values(&agent, drawn, best, value_step));
            }
            if (!isfinite(errors)) { steps = -1; episode = episodes; break; }
            cell = target;
        }
        if (steps >= 0) returns[episode] = total;
    }
    free(agent.weights), free(agent.rewards), free(agent.rows), free(agent.error);
    free(replay), free(replay_next), free(replay_action), free(replay_reward), free(replay_alive);
    return steps;
}
