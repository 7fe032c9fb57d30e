/* Algorithm 1 on the corridor. */
#define ACTIONS 2
#include "algorithm1.h"

enum { LEFT = 0, RIGHT = 1 };

/* Returns the number of steps taken, or −1 if the weights overflowed. */
int64_t corridor(int64_t cells, double slip, int64_t switch_every, int64_t size, int64_t active,
                 const int64_t *features, double value_step, double model_step, double epsilon,
                 double discount, int64_t planning_steps, int64_t capacity, int64_t episodes,
                 int64_t step_limit, const uint64_t *seed, double *returns) {
    Learner learner = new_learner(size, active, value_step, model_step, epsilon, discount,
                                  planning_steps, capacity, seed);
    int64_t steps = 0;
    for (int64_t episode = 0; episode < episodes; episode++) {
        const int goal = (episode / switch_every) % 2 == 0 ? RIGHT : LEFT;
        int64_t cell = (int64_t)(uniform(&learner.world) * (double)cells);
        double total = 0.0, alive = 1.0;
        for (int64_t time = 0; alive > 0.0 && time < step_limit; time++) {
            const int64_t *state = features + cell * active;
            int64_t action = act(&learner.agent, state, epsilon, &learner.acting);
            int64_t direction = uniform(&learner.world) < 1.0 - slip ? action : 1 - action;
            int64_t target = direction == RIGHT ? cell + 1 : cell - 1;
            double reward = -1.0;
            if (target < 0 || target >= cells) {
                reward = direction == goal ? 20.0 : 0.0;
                alive = 0.0;
            }
            const int64_t *next = alive > 0.0 ? features + target * active : state;
            total += reward;
            steps++;
            double errors = learn_and_plan(&learner, state, action, reward, next, alive);
            if (!isfinite(errors)) { free_learner(&learner); return -1; }
            cell = target;
        }
        returns[episode] = total;
    }
    free_learner(&learner);
    return steps;
}
