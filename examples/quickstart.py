"""From nothing to a comparison: two agents, one domain, intervals, the exact optimum."""

import expectant as ex

# A corridor of nine cells with a goal that changes ends every 100 episodes, seen through
# fourteen random bits, five of them on in every cell.
domain = ex.Corridor(slip=0.1, switch_every=100)
features = ex.RandomBinary(size=14, active=5)

agents = {
    "Q-learning": ex.QLearning.paper(action_step=0.03),
    "Algorithm 1": ex.Lookahead.paper(value_step=0.1, model_step=0.01, planning_steps=1),
}

if __name__ == "__main__":
    for name, agent in agents.items():
        result = ex.run(domain, features, agent, episodes=400, runs=20, seed=0)
        mean, low, high = ex.analysis.interval(result.returns.mean(axis=1))
        print(f"{name:12} {mean:6.2f} ({low:.2f} to {high:.2f})")
    optimum = ex.exact.epsilon_greedy_optimal_return(domain, epsilon=0.1)
    print(f"{'optimum':12} {optimum:6.2f}")
