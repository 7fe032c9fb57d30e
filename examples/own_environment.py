"""Use a Gymnasium environment: run it many times, or step through it in a loop."""

import gymnasium
import numpy as np

import expectant as ex


class Thermostat(gymnasium.Env):
    """Keep a room near 10 degrees (readings 19 to 21): heat or wait, for 50 steps."""

    observation_space = gymnasium.spaces.Discrete(41)  # the reading, in half degrees
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.room, self.steps = int(self.np_random.integers(10, 30)), 0
        return self.room, {}

    def step(self, action):
        drift = -1 if self.np_random.random() < 0.7 else 0
        self.room = int(np.clip(self.room + 2 * int(action) + drift, 0, 40))
        self.steps += 1
        reward = 1.0 if 19 <= self.room <= 21 else 0.0
        return self.room, reward, False, self.steps >= 50, {}  # a time limit is no termination


agent = ex.Lookahead(discount=0.9)

if __name__ == "__main__":
    result = ex.run(ex.Gym(Thermostat), ex.OneHot(), agent, episodes=60, runs=5)
    print(f"first 5 episodes {result.returns[:, :5].mean():.1f}, last 20 "
          f"{result.returns[:, -20:].mean():.1f} of 50 steps in comfort")  # fmt: skip

    env = Thermostat()
    learner = ex.Learner.for_env(agent, ex.OneHot(), env, seed=1)
    total = 0.0
    for episode in range(60):
        observation, _ = env.reset(seed=episode)
        action: int | None = learner.start(observation)
        while action is not None:  # None when the episode is over
            observation, reward, terminated, truncated, _ = env.step(action)
            action = learner.step(reward, observation, terminated, truncated)
            total += reward if episode >= 40 else 0.0
    print(f"in a loop, last 20 episodes: {total / 20:.1f}")
    print("at a reading of 12 it", ("waits", "heats")[learner.predict(12)])
