from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import expectant as ex
from expectant.domains.gym import World
from expectant.domains.spaces import numbers
from expectant.rules import LARGEST, either, one_of, or_none, whole
from expectant.seeds import generator, one_word, sequence

SEEDS = [0, 1, 7, 2**32 - 1, 2**32, 2**32 + 1, 7 * 2**32, 2**64, 2**96 + 2**32, 2**128 - 1]
RUNS = [0, 1, 2, 2**32 - 1, 2**32, 2**32 + 1]


def words(found: np.random.SeedSequence) -> tuple[int, ...]:
    return tuple(found.generate_state(4).tolist())


def test_small_seeds_give_the_numbers_they_always_gave():
    assert generator(0, 0).integers(2**60) == 734366826923567141
    assert generator(2**32 - 1, 29, 2).integers(2**60) == 1129081185748745744
    for seed, run, stream in itertools.product([0, 5, 2**32 - 1], [0, 29], [(), (1,), (2,)]):
        found = sequence(seed, run, *stream)
        assert words(found) == words(np.random.SeedSequence((seed, run, *stream)))


def test_every_seed_run_and_stream_has_numbers_of_its_own():
    """Those of the children that a model may take from a run's generator included."""
    found = []
    for seed, run, stream in itertools.product(SEEDS, RUNS, [(), (1,), (2,)]):
        whole = sequence(seed, run, *stream)
        found += [words(whole), *(words(child) for child in whole.spawn(3))]
    assert len(set(found)) == len(found) == len(SEEDS) * len(RUNS) * 3 * 4


def test_large_seeds_in_runs_learners_and_environments():
    def returns(seed: int) -> Any:
        return ex.run(
            ex.Corridor(), ex.RandomBinary(5, 2), ex.QLearning(0.1), episodes=5, runs=2, seed=seed,
            compiled=False, progress=False,
        ).returns  # fmt: skip

    small, large = returns(0), returns(2**32)
    assert not np.array_equal(large[0], small[1])  # as it was when the words ran together
    assert not np.array_equal(large[0], large[1])
    assert np.array_equal(returns(2**128 - 1), returns(2**128 - 1))

    class Env:
        action_space = type("Space", (), {"start": 0})

    env: Any = Env()
    seeds = [World(env, numbers(3), seed, run).seed for seed, run in [(0, 1), (2**32, 0)]]
    assert len(set(seeds)) == 2


def test_a_seed_for_other_libraries():
    assert one_word(5) == 5
    assert 0 <= one_word(2**70) < 2**32
    assert one_word(2**70) != one_word(2**71)


HUGE = 10**30


@pytest.mark.parametrize(("call", "message"), [
    (lambda: ex.run(ex.Corridor(), ex.OneHot(), ex.QLearning(0.1), episodes=HUGE), "run: episodes"),
    (lambda: ex.run(ex.Corridor(), ex.OneHot(), ex.QLearning(0.1), episodes=1, step_limit=HUGE), "run: step_limit"),
    (lambda: ex.run(ex.Corridor(), ex.OneHot(), ex.QLearning(0.1), episodes=1, runs=HUGE), "run: runs"),
    (lambda: ex.run(ex.Corridor(), ex.OneHot(), ex.QLearning(0.1), steps=1, bins=HUGE), "run: bins"),
    (lambda: ex.Lookahead(0.1, planning_steps=HUGE), "Lookahead: planning_steps"),
    (lambda: ex.Lookahead(0.1, replayed_fits=HUGE), "Lookahead: replayed_fits"),
    (lambda: ex.RandomBinary(HUGE, 5), "RandomBinary: size"),
    (lambda: ex.Tiles(2, [3, HUGE]), "Tiles: tiles"),
    (lambda: ex.Replay(HUGE), "Replay: capacity"),
    (lambda: ex.Corridor(switch_every=HUGE), "Corridor: switch_every"),
    (lambda: ex.Learner(ex.QLearning(0.1), ex.OneHot(), HUGE, states=2), "Learner: n_actions"),
    (lambda: ex.Learner(ex.QLearning(0.1), ex.OneHot(), 2, states=HUGE), "Learner: states"),
])  # fmt: skip
def test_whole_numbers_that_compiled_code_cannot_hold(call, message):
    with pytest.raises(
        ValueError, match=rf"^{message} must be .* \(at most 2\*\*63 - 1\), got .*{HUGE}"
    ):
        call()


def test_seeds_may_be_larger_but_not_endless():
    rule = r"seed:? must be a whole number, 0 or more \(at most 2\*\*128 - 1\)"
    for seed, shown in ((2**128, str(2**128)), (10**5000, r"one of about 4,983 digits")):
        with pytest.raises(ValueError, match=rf"^Learner: {rule}, got {shown}$"):
            ex.Learner(ex.QLearning(0.1), ex.OneHot(), 2, states=3, seed=seed)


def test_numbers_that_no_float_holds():
    learner = ex.Learner(ex.QLearning(0.1), ex.OneHot(), 2, states=3, compiled=False)
    learner.start(0)
    with pytest.raises(ValueError, match="reward: must be a finite number"):
        learner.step(10**400, 1, False)
    learner = ex.Learner(ex.QLearning(0.1), ex.Tiles(1, 2), 2, bounds=[(0, 1)], compiled=False)
    with pytest.raises(ValueError, match="observation: must be 1 numbers"):
        learner.start([10**400])


def test_the_limit_itself_is_allowed():
    assert whole(0).check("f", "x", LARGEST) == LARGEST
    assert or_none(either(whole(0), one_of("all"))).check("f", "x", "all") == "all"
    with pytest.raises(ValueError, match=r"f: x must be a whole number, 1 or more \(at most 9\)"):
        whole(1, 9).check("f", "x", 10)


def test_the_seed_is_zero_where_none_is_given():
    def run(**seed: Any) -> ex.Result:
        return ex.run(
            ex.Corridor(), ex.RandomBinary(5, 2), ex.QLearning(0.1), episodes=5, runs=2,
            compiled=False, progress=False, **seed,
        )  # fmt: skip

    given = run(seed=0)
    assert run().seed == given.seed == 0
    assert np.array_equal(run().returns, given.returns)


CORRIDOR, FEATURES, AGENT = ex.Corridor(), ex.OneHot(), ex.QLearning(0.1)
PLAIN: Any = {"compiled": False}
QUIET: Any = {"compiled": False, "progress": False}
SHORT: Any = {"episodes": 2, "runs": 1, **QUIET}
COMPOSED: Any = (CORRIDOR, FEATURES, AGENT)


def evaluated(seed: Any) -> Any:
    result = ex.run(*COMPOSED, keep_agents=True, **SHORT)
    return ex.evaluate(result, CORRIDOR, 2, seed=seed, **QUIET)


def watched(seed: Any) -> Any:
    domain, features, agent = COMPOSED
    return ex.watch(domain, features, agent, "run.gif", episodes=1, frames=2, seed=seed, **QUIET)


# everything public that draws: how it is called with a seed, under the name that errors begin with
WAYS: dict[str, Callable[[Any], Any]] = {
    "run": lambda seed: ex.run(*COMPOSED, seed=seed, **SHORT),
    "compare": lambda seed: ex.compare(*COMPOSED, seed=seed, quiet=True, **SHORT),
    "evaluate": evaluated,
    "watch": watched,
    "try_on": lambda seed: ex.try_on(CORRIDOR, 0.01, seed=seed, compiled=False, quiet=True),
    "Learner": lambda seed: ex.Learner(AGENT, FEATURES, 2, states=3, seed=seed),
    "Sweep": lambda seed: ex.Sweep(
        domain=CORRIDOR, features=FEATURES, agents={"q": AGENT}, episodes=2, runs=1, seed=seed
    ),
    "bounds_of": lambda seed: ex.bounds_of(ex.MountainCar(), 2, seed=seed),
    "check_agent": lambda seed: ex.check_agent(AGENT, steps=5, seed=seed, **PLAIN),
    "check_backups": lambda seed: ex.check_backups(ex.Replay(9), steps=5, seed=seed, **PLAIN),
    "check_domain": lambda seed: ex.check_domain(CORRIDOR, episodes=1, seed=seed),
    "check_features": lambda seed: ex.check_features(FEATURES, steps=5, seed=seed, **PLAIN),
    "check_model": lambda seed: ex.check_model(ex.LinearExpectation(0.1), steps=5, seed=seed, **PLAIN),
    "check_option": lambda seed: ex.check_option(ex.ShortestPath(1), steps=5, seed=seed, **PLAIN),
    "feature_matrix": lambda seed: ex.exact.feature_matrix(CORRIDOR, FEATURES, seed=seed),
    "errors_over_time": lambda seed: ex.diagnostics.errors_over_time(
        *COMPOSED, episodes=2, every=1, runs=1, seed=seed, compiled=False
    ),
    "Branching": lambda seed: ex.Branching(task_seed=seed),
    "Lottery": lambda seed: ex.Lottery(task_seed=seed),
}  # fmt: skip
PUBLIC = {
    name: thing
    for module in (ex, ex.exact, ex.diagnostics)
    for name in module.__all__
    if callable(thing := getattr(module, name)) and name != "Result"
}
SEED_ARGUMENTS = {"seed", "seeds", "task_seed"}


def seed_argument(name: str) -> inspect.Parameter | None:
    try:
        parameters = inspect.signature(PUBLIC[name]).parameters
    except ValueError:  # exceptions, which are built in
        return None
    return next((parameters[key] for key in parameters if key in SEED_ARGUMENTS), None)


def test_all_that_takes_a_seed_is_in_the_table():
    assert {name for name in PUBLIC if seed_argument(name)} == set(WAYS)


@pytest.mark.parametrize("name", WAYS)
def test_what_draws_begins_at_seed_zero(name):
    parameter = seed_argument(name)
    assert parameter is not None
    assert parameter.default == (None if name == "Sweep" else 0)  # a sweep's file has one


@pytest.mark.parametrize("seed", [-1, 2**128, 1.5, True, "3", None, [1]])
@pytest.mark.parametrize("name", WAYS)
def test_what_is_no_seed_is_refused_by_all_in_the_same_words(name, seed):
    if name == "Sweep" and seed is None:
        pytest.skip("means the seed of the file")
    rule = r"seed:? must be a whole number, 0 or more( \(at most 2\*\*128 - 1\))?, got "
    with pytest.raises(ValueError, match=rf"^\w+: (task_)?{rule}{re.escape(repr(seed))}$"):
        WAYS[name](seed)


@pytest.mark.parametrize("name", [name for name in WAYS if name not in ("watch", "try_on")])
@pytest.mark.parametrize("seed", [2**64, 2**128 - 1, np.int64(3)])
def test_all_take_the_largest_seed(name, seed):
    WAYS[name](seed)


def test_numbers_are_written_out_up_to_two_hundred_bits():
    for value, shown in ((2**200 - 1, str(2**200 - 1)), (2**200, "one of about 60 digits")):
        with pytest.raises(ValueError, match=f"got {shown}$"):
            whole(0, 5).check("Owner", "argument", value)
