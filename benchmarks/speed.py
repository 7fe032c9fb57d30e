"""Measure speed side by side: the library, hand-written C, plain NumPy.

Every number is the best of several interleaved repeats. :data:`ROWS` can be measured alone,
:data:`PROMISES` are ratios that must be kept.
``expectant bench --json > docs/measured/speed.json`` stores the results.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from c_reference import compile_c, measure_c
from numpy_reference import run_algorithm1

import expectant as ex
from expectant.core.config import suggest_name
from expectant.core.dispatch import unowned
from expectant.core.memory import TooLargeError
from expectant.core.rng import run_streams
from expectant.core.vectors import empty_state
from expectant.core.verbs import act, encode, function
from expectant.engine.driver import drive, new_control
from expectant.engine.loop import Budget, simulate
from expectant.engine.setup import UNLIMITED, Setup, is_loop_compiled
from expectant.engine.workers import end_idle_workers
from expectant.jit.compile import kernel_for, register_overloads
from expectant.jit.numba_internals import make_kernel

REPEATS = 5
SCALE = 1.0  # of the lengths of all runs; smaller ones only show that a row works
DOMAIN = ex.Corridor(slip=0.1, switch_every=500)
FEATURES = ex.RandomBinary(size=14, active=5)
CAR, TILES = ex.MountainCar(), ex.Tiles(8, 8)
CAR_AGENT = ex.Lookahead.paper(value_step=0.05, model_step=0.05, planning_steps=5)
AGENTS: dict[str, Callable[[int], Any]] = {
    "Q-learning": lambda n: ex.QLearning.paper(0.01),
    "Algorithm 1": lambda n: ex.Lookahead.paper(0.01, 0.01, planning_steps=n),
    "Algorithm 1, maintained": lambda n: ex.Lookahead.paper(
        0.01, 0.01, planning_steps=n, model="cached_lookahead"
    ),
    "Algorithm 2": lambda n: ex.CachedValues.paper(0.01, 0.01, 0.01, planning_steps=n),
    "Algorithm 3": lambda n: ex.CachedPolicy.paper(0.01, 0.001, 0.01, planning_steps=n),
}
Measure = Callable[[], tuple[Any, ...]]  # returns seconds, steps and maybe returns
Times = dict[str, float]


def tell(text: str) -> None:
    """Print progress."""
    print(f"  {text}", file=sys.stderr, flush=True)


def scaled(number: float, least: int = 1) -> int:
    return max(least, int(number * SCALE))


def timed_run(
    domain: Any, features: Any, agent: Any, episodes: float, step_limit: int = 10_000
) -> Measure:
    """Return a measurement of one run on one thread, compiling and building excluded."""
    setup = Setup(domain, features, agent, episodes=scaled(episodes, 2), step_limit=step_limit)
    if not is_loop_compiled(setup):
        tell(f"compiling {type(agent).__name__} in {type(domain).__name__} (once, then cached)")

    def measure() -> tuple[float, int, np.ndarray]:
        prepared, streams = setup.build(0)
        kernel = kernel_for(prepared)
        start = time.perf_counter()
        kernel(prepared, setup.budget(), streams, np.zeros(1, np.int64))
        return time.perf_counter() - start, int(prepared.clock[2]), prepared.returns

    measure()  # compiles
    return measure


def timed_numpy_run(agent: ex.Lookahead, episodes: int) -> Measure:
    """Return a measurement of the same run in plain NumPy, from the same random numbers."""

    def measure() -> tuple[float, int, np.ndarray]:
        streams = run_streams(0, 0)
        features = np.zeros((DOMAIN.cells, FEATURES.size))
        built: Any = FEATURES.build(DOMAIN, streams.building)
        for row, active in zip(features, built.active, strict=True):
            row[active] = 1.0
        start = time.perf_counter()
        returns, steps = run_algorithm1(DOMAIN, features, agent, episodes, streams)
        return time.perf_counter() - start, steps, returns

    return measure


def interleave(measures: dict[str, Measure], repeats: int = REPEATS) -> Times:
    """Return the best nanoseconds a step of measurements that take turns."""
    times = dict.fromkeys(measures, float("inf"))
    for _ in range(repeats):
        for name, measure in measures.items():
            seconds, steps, *_ = measure()
            times[name] = min(times[name], seconds / steps * 1e9)
    return times


def have_same_returns(measures: dict[str, Measure]) -> bool:
    """Compare the returns of the episodes that all measurements have."""
    returns = [measure()[2] for measure in measures.values()]
    few = min(map(len, returns))
    return all(np.array_equal(row[:few], returns[0][:few]) for row in returns)


def side_by_side() -> dict[str, Any]:
    """Algorithm 1 on the corridor in the library, in C and in NumPy, by planning steps."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        compiled = {
            "c": compile_c("corridor", Path(folder)),
            "c_fast_math": compile_c("corridor", Path(folder), "-ffast-math"),
        }
        for steps in (0, 5, 20, 100):
            tell(f"Algorithm 1, {steps} planning steps, against C and NumPy")
            agent = ex.Lookahead.paper(value_step=0.01, model_step=0.02, planning_steps=steps)
            episodes = scaled(200_000 / (20 + steps), 2)
            measures = {"expectant": timed_run(DOMAIN, FEATURES, agent, 200_000 // (20 + steps))}
            for name, function in compiled.items():
                if function is not None:
                    measures[name] = measure_c(
                        function, DOMAIN, FEATURES, agent, episodes, 10_000
                    )  # fmt: skip
            slow = {"numpy": timed_numpy_run(agent, min(40, episodes))}
            exact = {name: measures[name] for name in measures if name != "c_fast_math"}
            found[str(steps)] = {**interleave(measures), **interleave(slow, 2),
                                 "same_returns": have_same_returns(exact | slow)}  # fmt: skip
    return found


def mountain_car() -> dict[str, Any]:
    """The mountain car against C, and through Gymnasium against acting at random."""
    measures, episodes = ({"expectant": timed_run(CAR, TILES, CAR_AGENT, 60, 200)}, scaled(60, 2))
    with tempfile.TemporaryDirectory() as folder:
        function = compile_c("mountain_car", Path(folder))
        if function is not None:
            measures["c"] = measure_c(function, CAR, TILES, CAR_AGENT, episodes, 200)
        times = interleave(measures)
        same = have_same_returns(measures)
    learn_in_gym()  # compiles
    gym = interleave({"gym_random": act_at_random, "gym_learning": learn_in_gym}, 3)
    return {**times, **gym, "same_returns": same}


def act_at_random() -> tuple[float, int]:
    """Measure acting at random in Gymnasium's mountain car."""
    import gymnasium

    env, steps = gymnasium.make("MountainCar-v0"), scaled(20_000, 200)
    env.action_space.seed(0)
    env.reset(seed=0)
    start = time.perf_counter()
    for _ in range(steps):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()
    return time.perf_counter() - start, steps


def learn_in_gym() -> tuple[float, int]:
    """Measure Q-learning in the same environment."""
    steps, domain = scaled(20_000, 200), ex.Gym("MountainCar-v0")
    agent = ex.QLearning.paper(0.05)
    result = ex.run(domain, TILES, agent, steps=steps, runs=1, threads=1, progress=False)
    return result.seconds, steps


def sparse() -> Times:
    """The mountain car with the dense and the sparse model, by number of features."""
    measures = {}
    for name, tiles in (("expectation", 16), ("sparse", 16), ("sparse", 111), ("sparse", 353)):
        agent = ex.Lookahead.paper(0.2, 0.2, step_unit="total", epsilon=0.0, model=name)
        features = ex.Tiles(8, tiles)
        try:
            measures[f"{name} {features.shape(CAR).size}"] = timed_run(
                CAR, features, agent, 60, 200
            )
        except TooLargeError as error:
            tell(str(error))
    return interleave(measures, 3)


def least_squares() -> Times:
    """A random MDP with models fitted by gradient steps and by a filter, by number of features."""
    domain, measures = ex.domains.Garnet(states=1000), {}
    default = ex.models.KalmanExpectation(
        prior=30, optimism=1, continuation_prior=True, change_detection=True
    )
    models = {"gradient steps": "expectation", "filter": "kalman", "default": default}
    for name, model in models.items():
        for size in (14, 100, 700):
            agent = ex.Lookahead.paper(0.05, model=model, planning_steps=5, discount=0.9)
            features = ex.RandomBinary(size, 5)
            measures[f"{name} {size}"] = timed_run(domain, features, agent, 2 + 20_000 // size)
    return interleave(measures, 3)


def threads() -> Times:
    """The same runs on one thread and on two, in seconds."""
    agent = ex.Lookahead.paper(value_step=0.01, model_step=0.02, planning_steps=20)

    def seconds(count: int) -> float:
        return ex.run(
            DOMAIN, FEATURES, agent, episodes=scaled(4000), runs=16, threads=count, progress=False
        ).seconds

    pairs = [(seconds(1), seconds(2)) for _ in range(REPEATS)]
    return dict(zip(("one", "two"), map(min, zip(*pairs, strict=True)), strict=True))


def processes() -> Times:
    """CartPole of Gymnasium in one process and in two, in seconds.

    ``first`` includes starting the second process, which ``two`` reuses.
    """
    bounds = [(-2.4, 2.4), (-3, 3), (-0.21, 0.21), (-3, 3)]
    features = ex.Tiles(8, (2, 2, 4, 4), bounds=bounds)
    agent = ex.QLearning.paper(
        0.2, step_unit="total", epsilon=0.05, discount=0.99, initial_value=30
    )

    def seconds(count: int) -> float:
        return ex.run(
            ex.Gym("CartPole-v1"), features, agent, steps=scaled(150_000), runs=8, threads=count,
            progress=False,
        ).seconds  # fmt: skip

    def start_and_run() -> float:
        end_idle_workers()  # so that new ones are started
        return seconds(2)

    rounds = [(seconds(1), start_and_run(), seconds(2)) for _ in range(2)]
    return dict(zip(("one", "first", "two"), map(min, zip(*rounds, strict=True)), strict=True))


def many_actions(actions: int) -> ex.FiniteMDP:
    """Return the corridor with every move available under several numbers."""
    table = ex.Corridor(slip=0.1).mdp().outcomes
    which = np.arange(actions) % 2
    return ex.FiniteMDP(
        table.probabilities[0][:, which], table.rewards[0][:, which], table.successors[:, which]
    )


def by_size(
    tables: dict[str, tuple[tuple[int, ...], Callable[[Callable[[int], Any], int], float]]],
) -> dict[str, dict[str, Times]]:
    """Measure all agents at all sizes of every table."""
    found: dict[str, dict[str, Times]] = {}
    for title, (sizes, measure) in tables.items():
        for name, make in AGENTS.items():
            tell(f"{name}: {title}")
            times = {str(size): measure(make, size) for size in sizes}
            found.setdefault(title, {})[name] = times
    return found


def growth() -> dict[str, dict[str, Times]]:
    """How the nanoseconds of a step grow with features, planning steps and actions."""

    def once(*given: Any) -> float:
        return interleave({"": timed_run(*given)}, 2)[""]

    return by_size({
        "features (d), 5 planning steps": ((14, 64, 256, 1024), lambda make, d: once(
            ex.Corridor(), ex.RandomBinary(d, 5), make(5), 2 + 40_000 // d, 100)),
        "planning steps, d = 14": ((0, 5, 20, 100), lambda make, n: once(
            ex.Corridor(), FEATURES, make(n), 20_000 // (5 + n))),
        "actions, d = 14, 5 planning steps": ((2, 16, 64, 256), lambda make, a: once(
            many_actions(a), FEATURES, make(5), 2 + 6000 // a)),
    })  # fmt: skip


@function
def decide(run, rng, repeats):
    """Choose an action ``repeats`` times in the present state; return the sum of the choices."""
    run, rng = unowned(run), unowned(rng)
    total = 0
    for _ in range(repeats):
        total += act(run.agent, run.state, rng)
    return total


def decision_nanoseconds(domain: ex.Domain, features: ex.Features, agent: ex.Agent) -> float:
    """The time of one greedy decision of an agent after one step; the best of five rounds."""
    setup = Setup(domain, features, agent.replace(epsilon=0.0), steps=1)
    run, streams, _ = next(drive(setup, 0, simulate, new_control()))
    kernel, times = kernel_for(run, decide), []
    for repeats in (1, *[2000] * 5):
        start = time.perf_counter()
        kernel(run, streams.acting, repeats)
        times.append(time.perf_counter() - start)
    return min(times[1:]) / 2000 * 1e9


def decisions() -> dict[str, dict[str, Times]]:
    """The latency of one decision in nanoseconds, without learning, by actions and by features."""
    return by_size({
        "actions, d = 64": ((2, 16, 64, 256), lambda make, n: decision_nanoseconds(
            many_actions(n), ex.RandomBinary(64, 5), make(5))),
        "features (d), 2 actions": ((16, 256, 1024), lambda make, n: decision_nanoseconds(
            ex.Corridor(), ex.RandomBinary(n, 5), make(5))),
    })  # fmt: skip


def options() -> dict[str, Times]:
    """Nanoseconds of processor time a step with 0 to 16 options beside four actions.

    The least of many short rounds that take turns: a long one is never undisturbed.
    """
    agent, steps = ex.Lookahead.paper(0.1, 0.1, planning_steps=5, discount=0.99), scaled(5_000)
    measures: dict[str, dict[str, Measure]] = {"given": {}, "learned": {}}

    def measurement(domain: Any, features: Any, changed: ex.Agent) -> Measure:
        setup = Setup(domain, features, changed, step_limit=1000)

        def measure() -> tuple[float, int]:
            run, streams = setup.build(0)
            kernel = kernel_for(run)
            start = time.process_time()
            kernel(run, Budget(UNLIMITED, steps, 1000), streams, np.zeros(1, np.int64))
            return time.process_time() - start, steps

        return measure

    for count in (0, 4, 8, 16):
        some = tuple(ex.options.BestOption(state) for state in range(count))
        for name, more in (("given", {"models": "exact"}), ("learned", {"step": 0.01})):
            tell(f"{count} options with {name} models")
            changed = agent.replace(options=ex.options.OptionSet(some, **more)) if some else agent
            measures[name][str(count)] = measurement(ex.domains.TwoRooms(), ex.OneHot(), changed)
            measures[name][str(count)]()  # compiles
    return {name: interleave(each, scaled(25)) for name, each in measures.items()}


class Square(ex.Domain):
    """What feature maps ask of a domain: two components between 0 and 1."""

    actions = 2
    bounds = ((0.0, 1.0), (0.0, 1.0))


def encode_rows(features, observation, observations, state):
    """Encode rows of observations; the sum of some indices keeps them needed."""
    features, observation = unowned(features), unowned(observation)
    observations, state = unowned(observations), unowned(state)
    total = 0
    for row in range(observations.shape[0]):
        observation[0] = observations[row, 0]
        observation[1] = observations[row, 1]
        encode(features, observation, 0 if row > 0 else -1, state)
        total += state.active[row % state.active.shape[0]]
    return total


def encodings() -> dict[str, Times]:
    """Million encodings a second of two-dimensional observations, by feature map."""
    maps: dict[str, Any] = {
        "8 tilings of 8×8": TILES,
        "the same, hashed to 1,024": ex.Tiles(8, 8, hash_size=1024),
        "Fourier, order 3": ex.Fourier(3),
        "the last 4 of those tilings": ex.features.History(TILES, 4),
    }
    found, square = {}, Square()
    for name, features in maps.items():
        rng, shape = np.random.default_rng(0), features.shape(square)
        part, state = features.build(square, rng), empty_state(shape)
        rows = rng.random((scaled(100_000), 2))
        kernel = make_kernel(encode_rows, register_overloads)
        kernel(part, np.zeros(2), rows[:1], state)  # compiles
        best = float("inf")
        for _ in range(REPEATS):
            start = time.perf_counter()
            kernel(part, np.zeros(2), rows, state)
            best = min(best, time.perf_counter() - start)
        found[name] = {"d": shape.size, "k": shape.active, "millions": len(rows) / best / 1e6}
    return found


ROWS: dict[str, Callable[[], dict[str, Any]]] = {
    row.__name__: row
    for row in (side_by_side, mountain_car, sparse, least_squares, threads, processes, growth,
                decisions, options, encodings)
}  # fmt: skip


def option_growth(times: Times) -> float:
    """Return what one of 16 options adds to a step, divided by what one of 4 adds."""
    return (times["16"] - times["0"]) / 16 / ((times["4"] - times["0"]) / 4)


# Row, name of the ratio, the ratio, "at most" or "at least", the limit.
PROMISES: list[tuple[str, str, Callable[[Any], float], str, float]] = [
    ("side_by_side", "time ÷ C, 5 planning steps",
     lambda row: row["5"]["expectant"] / row["5"]["c"], "at most", 1.6),
    ("side_by_side", "time ÷ C, 20 planning steps",
     lambda row: row["20"]["expectant"] / row["20"]["c"], "at most", 1.4),
    ("side_by_side", "NumPy ÷ time, 5 planning steps",
     lambda row: row["5"]["numpy"] / row["5"]["expectant"], "at least", 100),
    ("mountain_car", "mountain car, time ÷ C", lambda row: row["expectant"] / row["c"],
     "at most", 1.4),
    ("mountain_car", "steps a second through Gymnasium ÷ acting at random",
     lambda row: row["gym_random"] / row["gym_learning"], "at least", 0.33),
    ("sparse", "dense ÷ sparse model, mountain car",
     lambda row: row["expectation 2312"] / row["sparse 2312"], "at least", 5.0),
    ("sparse", "sparse model, 100,352 ÷ 2,312 features",
     lambda row: row["sparse 100352"] / row["sparse 2312"], "at most", 1.5),
    ("sparse", "sparse model, 1,002,528 ÷ 2,312 features",
     lambda row: row["sparse 1002528"] / row["sparse 2312"], "at most", 1.5),
    ("threads", "one thread ÷ two", lambda row: row["one"] / row["two"], "at least", 1.6),
    ("processes", "one process ÷ two, first call", lambda row: row["one"] / row["first"],
     "at least", 1.5),
    ("processes", "one process ÷ two, later calls", lambda row: row["one"] / row["two"],
     "at least", 1.7),
    ("options", "one of 16 options ÷ one of 4, given models",
     lambda row: option_growth(row["given"]), "at most", 1.3),
    ("options", "one of 16 options ÷ one of 4, learned models",
     lambda row: option_growth(row["learned"]), "at most", 1.3),
    ("encodings", "million encodings a second, 8 tilings of 8×8",
     lambda row: row["8 tilings of 8×8"]["millions"], "at least", 5),
]  # fmt: skip


def judge(results: dict[str, Any]) -> dict[str, tuple[float, str, bool]]:
    """Return the promised ratios of what was measured, and whether they were kept."""
    ratios = {}
    for row, name, ratio, direction, limit in PROMISES:
        try:
            value = ratio(results[row])
        except KeyError:  # not measured, no gcc, or it did not fit into memory
            continue
        is_kept = value <= limit if direction == "at most" else value >= limit
        ratios[name] = value, f"{direction} {limit:g}", is_kept
    return ratios


def report(results: dict[str, Any]) -> None:
    """Print every measured number, and the promised ratios with their targets."""
    for name, numbers in results.items():
        print((ROWS[name].__doc__ or "").partition("\n")[0])
        for path, value in flatten(numbers):
            print(f"  {path:60} {value:>12,.4g}")
    for name, (value, promise, kept) in judge(results).items():
        print(f"{name}: {value:.2f} (target {promise}) {'met' if kept else 'MISSED'}")


def flatten(numbers: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the numbers of nested mappings with their keys."""
    for key, value in numbers.items():
        if isinstance(value, dict):
            yield from ((f"{key}, {path}", number) for path, number in flatten(value))
        else:
            yield key, value


def main(as_json: bool = False, rows: Sequence[str] = ()) -> int:
    """Measure some rows, or all; 0 if all promised ratios were kept, 1 otherwise."""
    for name in rows:
        if name not in ROWS:
            raise ValueError(f"bench: unknown row {name!r}{suggest_name(name, [*ROWS])}")
    results: dict[str, Any] = {}
    selected = [name for name in ROWS if not rows or name in rows]
    for number, name in enumerate(selected, start=1):
        start = time.perf_counter()
        print(f"row {number} of {len(selected)}: {name}", file=sys.stderr, flush=True)
        results[name] = ROWS[name]()
        tell(f"{time.perf_counter() - start:.0f} s")
    if as_json:
        print(json.dumps({**results, "verdicts": judge(results)}, indent=2, ensure_ascii=False))
    else:
        report(results)
    return 0 if all(kept for _, _, kept in judge(results).values()) else 1
