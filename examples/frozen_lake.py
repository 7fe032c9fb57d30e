"""FrozenLake with its exact solution: how close does an agent come, and where does it err?"""

import numpy as np

import expectant as ex

DISCOUNT, EPSILON = 0.97, 0.1
lake = ex.FiniteMDP.from_gym("FrozenLake-v1")  # the environment's own table of transitions
agent = ex.Lookahead(epsilon=EPSILON, discount=DISCOUNT, initial_value=0.5, planning_steps=10)

if __name__ == "__main__":
    result = ex.run(lake, ex.OneHot(), agent, episodes=3000, runs=10, keep_agents=True)
    mean, low, high = ex.analysis.interval(result.returns[:, -1000:].mean(axis=1))
    print(f"reaches the goal in {mean:.2f} of the episodes ({low:.2f} to {high:.2f})")

    # the best that can be done while exploring as much, counted without discount as above
    greedy = ex.exact.optimal_policy(lake, discount=DISCOUNT)
    best = ex.exact.epsilon_greedy_policy(greedy, EPSILON)
    limit = ex.exact.start_return(lake, ex.exact.policy_values(lake, best))
    print(f"the optimal policy, exploring as much, in {limit:.2f}")

    learner = ex.Learner.from_result(result, 0)
    learned = np.array([learner.predict(state) for state in range(lake.states)])
    values = ex.exact.policy_values(lake, np.eye(lake.actions)[learned], discount=DISCOUNT)
    optimal = ex.exact.optimal_values(lake, discount=DISCOUNT)
    print("what its greedy policy loses, by state:")
    print(np.round(optimal - values, 3).reshape(4, 4))
