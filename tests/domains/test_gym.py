from __future__ import annotations

import threading
from typing import Any

import gymnasium
import numpy as np
import pytest
from hall_env import CELLS, HallEnv

import expectant as ex


def newest(name):
    """The id of the newest installed version of an environment."""
    specs = [spec for spec in gymnasium.registry.values() if spec.name == name]
    return max(specs, key=lambda spec: spec.version or 0).id


@pytest.mark.parametrize("name", ["FrozenLake", "CliffWalking", "Taxi"])
def test_a_toy_text_table_becomes_the_same_mdp(name):
    env: Any = gymnasium.make(newest(name)).unwrapped
    mdp = ex.FiniteMDP.from_gym(newest(name))
    table = mdp.outcomes
    for s in range(env.observation_space.n):
        for a in range(env.action_space.n):
            ours: dict[tuple[int, float], float] = {}
            theirs: dict[tuple[int, float], float] = {}
            for o, probability in enumerate(table.probabilities[0, s, a]):
                key = (int(table.successors[s, a, o]), float(table.rewards[0, s, a, o]))
                ours[key] = ours.get(key, 0.0) + probability
            for probability, successor, reward, ended in env.P[s][a]:
                key = (-1 if ended else int(successor), float(reward))
                theirs[key] = theirs.get(key, 0.0) + probability
            assert {k: v for k, v in ours.items() if v > 0} == pytest.approx(theirs)
    assert table.start == pytest.approx(env.initial_state_distrib)


def test_a_transition_table():
    table = {
        0: {0: [(0.5, 1, 1.0, False), (0.5, 0, 0.0, True)], 1: [(1.0, 1, 0.0, False)]},
        1: {0: [(1.0, 0, 2.0, True)], 1: [(1.0, 1, 3.0, True)]},
    }
    mdp = ex.FiniteMDP.from_gym(table, start=[1.0, 0.0])
    assert ex.exact.optimal_values(mdp, discount=1.0).tolist() == [3.0, 3.0]
    assert mdp.outcomes.start.tolist() == [1.0, 0.0]


def test_options_go_to_make():
    plain = ex.FiniteMDP.from_gym("FrozenLake-v1", is_slippery=False)
    assert plain.outcomes.probabilities.shape[-1] == 1
    assert ex.Gym("FrozenLake-v1", map_name="8x8").states == 64


def test_an_environment_that_cannot_be_copied():
    env = HallEnv()
    env.lock = threading.Lock()  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="give a function that makes one"):
        ex.Gym(env).make()


def convert(domain, observation):
    received = domain.observation_spec.buffer()
    domain.observation_spec.convert(observation, received)
    return received


def test_observation_specs_of_spaces():
    cart: Any = ex.Gym("CartPole-v1")
    assert (cart.actions, cart.states, len(cart.bounds)) == (2, None, 4)
    numbers = gymnasium.spaces.MultiDiscrete([2, 3])
    assert ex.Gym(lambda: HallEnv(numbers)).states == CELLS
    vector = ex.Gym(lambda: HallEnv(numbers), numbered=False)
    assert vector.states is None and vector.bounds == ((0.0, 1.0), (0.0, 2.0))
    for sides, states in (([1000, 1000], 1_000_000), ([1000, 1001], None)):
        many = gymnasium.spaces.MultiDiscrete(sides)
        assert ex.Gym(lambda space=many: HallEnv(space)).states == states
    picture: Any = ex.Gym(lambda: HallEnv(gymnasium.spaces.Box(0, 255, (2, 3), np.uint8)))
    assert len(picture.bounds) == 6
    assert convert(picture, np.arange(6).reshape(2, 3)).tolist() == [0, 1, 2, 3, 4, 5]
    bits = ex.Gym(lambda: HallEnv(gymnasium.spaces.MultiBinary(3)))
    assert bits.states == 8 and convert(bits, np.array([1, 0, 1])).tolist() == [5]
    pair = gymnasium.spaces.Tuple(
        (gymnasium.spaces.Discrete(2), gymnasium.spaces.Discrete(3, start=1))
    )
    both = ex.Gym(lambda: HallEnv(pair))
    assert both.states == 6 and convert(both, (1, 3)).tolist() == [5]
