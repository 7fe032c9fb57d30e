"""Speed, measured side by side in one run: the library, hand-written C, plain NumPy.

Every number is the best of several interleaved repeats, so a busy machine disturbs all alike; what
counts are the ratios.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import expectant as ex
from expectant.engine.compile.compiling import kernel_for
from expectant.engine.job import Job
from expectant.seeds import streams_of

HERE = Path(__file__).parent
DOMAIN = ex.Corridor(slip=0.1, switch_every=500)
FEATURES = ex.RandomBinary(size=14, active=5)
FLAGS = ("-O3", "-march=native")
REPEATS = 7
TARGETS = {"c_5": 1.6, "c_20": 1.4, "numpy_5": 100.0, "threads": 1.6, "processes": 1.7,
           "encodings": 5.0, "car": 1.4, "gym": 1 / 3, "sparse": 5.0, "many": 1.5}  # fmt: skip


def beside(name: str) -> Any:
    """Another module of the benchmarks."""
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    if spec is None or spec.loader is None:
        raise ImportError(HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def lookahead(planning_steps: int) -> ex.Lookahead:
    """Algorithm 1 with step sizes that do not diverge at any number of planning steps."""
    return ex.Lookahead(value_step=0.01, model_step=0.02, planning_steps=planning_steps)


def nanoseconds(measure: Callable[[], tuple[float, int]], repeats: int = REPEATS) -> float:
    """Best time a step over some repeats of (seconds, steps)."""
    times = [measure() for _ in range(repeats)]
    return min(seconds / steps for seconds, steps in times) * 1e9


# ------------------------------------------------------------------------------- the library


def ours(
    domain: Any, features: Any, agent: Any, episodes: int, step_limit: int = 10_000
) -> Callable[[], tuple[float, int]]:
    """A measurement of one run on one thread, compiling and building excluded."""
    job = Job(domain, features, agent, episodes=episodes, step_limit=step_limit)
    control = np.zeros(1, np.int64)

    def measure() -> tuple[float, int]:
        prepared, streams = job.prepare(0)
        kernel = kernel_for(prepared)
        start = time.perf_counter()
        kernel(prepared, job.budget(), streams, control)
        seconds = time.perf_counter() - start
        measure.returns = prepared.returns  # type: ignore[attr-defined]
        return seconds, int(prepared.clock[2])

    measure()  # compiles
    return measure


# ------------------------------------------------------------------------------------------- C


def compile_c(folder: Path, flags: tuple[str, ...], world: str = "corridor") -> Any:
    """Algorithm 1 in a world in C, compiled here and now; None without gcc."""
    gcc = shutil.which("gcc")
    if gcc is None:
        return None
    library = folder / (world + "".join(flags).replace("=", "") + ".so")
    command = [
        gcc,
        *flags,
        "-shared",
        "-fPIC",
        "-o",
        str(library),
        str(HERE / f"{world}.c"),
        "-lm",
    ]
    subprocess.run(command, check=True)
    function = ctypes.CDLL(str(library))[world]
    function.restype = ctypes.c_int64
    return function


def in_c(function: Any, agent: ex.Lookahead, episodes: int) -> Callable[[], tuple[float, int]]:
    """The same run in C, from the same random numbers."""
    calling = beside("calling")
    streams = streams_of(0, 0)
    active = FEATURES.build(DOMAIN, streams.building).active
    seed, returns = calling.seed_words(streams), np.zeros(episodes)
    real, whole, pointer = ctypes.c_double, ctypes.c_int64, ctypes.c_void_p
    arguments = [
        whole(DOMAIN.cells), real(DOMAIN.slip), whole(DOMAIN.switch_every or 1),
        whole(FEATURES.size), whole(FEATURES.active), pointer(active.ctypes.data),
        real(agent.value_step), real(agent.model_step), real(agent.epsilon), real(agent.discount),
        whole(agent.planning_steps), whole(agent.replay_capacity or 1000), whole(episodes),
        whole(10_000), pointer(seed.ctypes.data), pointer(returns.ctypes.data),
    ]  # fmt: skip

    return calling.timed(function, arguments, returns, (active, seed))


# --------------------------------------------------------------------------------------- NumPy


def in_numpy(agent: ex.Lookahead, episodes: int) -> Callable[[], tuple[float, int]]:
    """The same run in plain NumPy, from the same random numbers."""
    plain = beside("plain")

    def measure() -> tuple[float, int]:
        streams = streams_of(0, 0)
        features = np.zeros((DOMAIN.cells, FEATURES.size))
        built = FEATURES.build(DOMAIN, streams.building)
        for row, active in zip(features, built.active, strict=True):
            row[active] = 1.0
        start = time.perf_counter()
        measure.returns, steps = plain.algorithm1(DOMAIN, features, agent, episodes, streams)  # type: ignore[attr-defined]
        return time.perf_counter() - start, steps

    return measure


# ---------------------------------------------------------------------------------- the tables


def side_by_side(say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Algorithm 1 in the library, in C and in NumPy, for several numbers of planning steps."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        plain_c = compile_c(Path(folder), FLAGS)
        fast_c = compile_c(Path(folder), (*FLAGS, "-ffast-math"))
        for planning_steps in (0, 5, 20, 100):
            say(f"Algorithm 1, {planning_steps} planning steps, against C and NumPy")
            agent, episodes = lookahead(planning_steps), 200_000 // (20 + planning_steps)
            measures = {"expectant": ours(DOMAIN, FEATURES, agent, episodes)}
            if plain_c is not None:
                measures["c"] = in_c(plain_c, agent, episodes)
                measures["c_fast_math"] = in_c(fast_c, agent, episodes)
            times = dict.fromkeys(measures, np.inf)
            for _ in range(REPEATS):
                latest = {name: nanoseconds(measure, 1) for name, measure in measures.items()}
                times = {name: min(times[name], latest[name]) for name in latest}
            few = 40
            numpy_measure = in_numpy(agent, few)
            times["numpy"] = nanoseconds(numpy_measure, 2)
            mine = measures["expectant"].returns[:few]  # type: ignore[attr-defined]
            same = np.array_equal(numpy_measure.returns, mine)  # type: ignore[attr-defined]
            if plain_c is not None:
                same = same and np.array_equal(
                    measures["c"].returns,  # type: ignore[attr-defined]
                    measures["expectant"].returns,  # type: ignore[attr-defined]
                )
            rows.append({"planning_steps": planning_steps, "same_returns": bool(same), **times})
    return rows


def mountain_car(say: Callable[[str], None]) -> dict[str, Any]:
    """The mountain car against C, and through Gymnasium against acting at random."""
    say("the mountain car against C")
    car = beside("car")
    measures = {"expectant": ours(car.DOMAIN, car.FEATURES, car.AGENT, car.EPISODES, 200)}
    with tempfile.TemporaryDirectory() as folder:
        function = compile_c(Path(folder), FLAGS, "mountain_car")
        if function is not None:
            measures["c"] = car.in_c(function, beside("calling"))
        times = dict.fromkeys(measures, np.inf)
        for _ in range(REPEATS):
            latest = {name: nanoseconds(measure, 1) for name, measure in measures.items()}
            times = {name: min(times[name], latest[name]) for name in latest}
    mine = measures["expectant"].returns  # type: ignore[attr-defined]
    same = function is None or np.array_equal(measures["c"].returns, mine)  # type: ignore[attr-defined]
    say("the mountain car through Gymnasium")
    car.learning()  # compiles
    pairs = [(nanoseconds(car.at_random, 1), nanoseconds(car.learning, 1)) for _ in range(3)]
    random, learning = (min(column) for column in zip(*pairs, strict=True))
    return {**times, "same_returns": bool(same), "gym_random": random, "gym_learning": learning}


def sparse(say: Callable[[str], None]) -> dict[str, float]:
    """The mountain car with the dense and the sparse model, by number of features."""
    say("the mountain car with a sparse model")
    return beside("sparse").speeds(ours, nanoseconds)


def threads(say: Callable[[str], None]) -> dict[str, Any]:
    """The same runs on one thread and on two, and how busy the machine was with other things."""
    say("one thread against two")

    def seconds(count: int) -> float:
        agent = lookahead(20)
        return ex.run(
            DOMAIN, FEATURES, agent, episodes=4000, runs=16, threads=count, progress=False
        ).seconds

    with beside("busy").watched() as machine:
        pairs = [(seconds(1), seconds(2)) for _ in range(8)]
    one, two = (min(column) for column in zip(*pairs, strict=True))
    return {"one": one, "two": two, "ratio": one / two, **machine}


def processes(say: Callable[[str], None]) -> dict[str, Any]:
    """CartPole of Gymnasium in this process and in two of its own, starting them included."""
    say("one process against two")
    bounds = [(-2.4, 2.4), (-3, 3), (-0.21, 0.21), (-3, 3)]
    features = ex.Tiles(8, (2, 2, 4, 4), bounds=bounds)
    agent = ex.QLearning(0.2, step_unit="total", epsilon=0.05, discount=0.99, initial_value=30)

    def seconds(count: int) -> float:
        return ex.run(
            ex.Gym("CartPole-v1"), features, agent, steps=150_000, runs=8, threads=count,
            progress=False,
        ).seconds  # fmt: skip

    with beside("busy").watched() as machine:
        pairs = [(seconds(1), seconds(2)) for _ in range(2)]
    one, two = (min(column) for column in zip(*pairs, strict=True))
    return {"one": one, "two": two, "ratio": one / two, **machine}


AGENTS: dict[str, Callable[[int], Any]] = {
    "Q-learning": lambda n: ex.QLearning(0.01),
    "Algorithm 1": lambda n: ex.Lookahead(0.01, 0.01, planning_steps=n),
    "Algorithm 1, maintained": lambda n: ex.Lookahead(
        0.01, 0.01, planning_steps=n, maintained=True
    ),
    "Algorithm 2": lambda n: ex.CachedValues(0.01, 0.01, 0.01, planning_steps=n),
    "Algorithm 3": lambda n: ex.CachedPolicy(0.01, 0.001, 0.01, planning_steps=n),
}


def many_actions(actions: int) -> ex.FiniteMDP:
    """The corridor with every move available under several numbers."""
    table = ex.Corridor(slip=0.1).mdp().outcomes
    which = np.arange(actions) % 2
    return ex.FiniteMDP(
        table.probabilities[0][:, which], table.rewards[0][:, which], table.successors[:, which]
    )


def growth(say: Callable[[str], None]) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """How the time of a step grows with features, planning steps and actions."""
    result: dict[str, dict[str, list[tuple[int, float]]]] = {}
    tables: dict[str, tuple[tuple[int, ...], Callable[[str, int], Callable[[], Any]]]] = {
        "features (d), 5 planning steps": (
            (14, 64, 256, 1024, 4096),
            lambda name, d: ours(
                ex.Corridor(), ex.RandomBinary(d, 5), AGENTS[name](5), 2 + 40_000 // d, 100
            ),
        ),
        "planning steps, d = 14": (
            (0, 1, 5, 20, 100),
            lambda name, n: ours(ex.Corridor(), FEATURES, AGENTS[name](n), 20_000 // (5 + n)),
        ),
        "actions, d = 14, 5 planning steps": (
            (2, 4, 16, 64, 256),
            lambda name, a: ours(many_actions(a), FEATURES, AGENTS[name](5), 2 + 6000 // a),
        ),
    }
    for title, (sizes, measurement) in tables.items():
        result[title] = {}
        for name in AGENTS:
            say(f"{name}: {title}")
            result[title][name] = [
                (size, nanoseconds(measurement(name, size), 3)) for size in sizes
            ]
    return result


BACKUPS = ("replay", "recency", "trajectory", "current", "seen", "prioritized", "sampler")
MODELS = ("expectation", "sparse", "episodic", "network", "distribution", "sample", "true", "exact")


def parts(say: Callable[[str], None]) -> dict[str, dict[str, float]]:
    """What Algorithm 1 costs a step with every backup distribution and every model."""
    costs: dict[str, dict[str, float]] = {"backup distribution": {}, "model": {}}
    for kind, option, names in (
        ("backup distribution", "backups", BACKUPS),
        ("model", "model", MODELS),
    ):
        for name in names:
            say(f"Algorithm 1 with {option} = {name}")
            agent = lookahead(5).replace(**{option: name})
            costs[kind][name] = nanoseconds(ours(ex.Corridor(), FEATURES, agent, 3000), 3)
    return costs


def decisions(say: Callable[[str], None]) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """How long one decision takes, without learning, by actions and by features."""
    from expectant.diagnostics import decision_nanoseconds

    result: dict[str, dict[str, list[tuple[int, float]]]] = {}
    tables: dict[str, tuple[tuple[int, ...], Callable[[int], tuple[Any, Any]]]] = {
        "actions, d = 64": (
            (2, 4, 16, 64, 256), lambda n: (many_actions(n), ex.RandomBinary(64, 5)),
        ),
        "features (d), 2 actions": (
            (16, 64, 256, 1024), lambda n: (ex.Corridor(), ex.RandomBinary(n, 5)),
        ),
    }  # fmt: skip
    for title, (sizes, setting) in tables.items():
        result[title] = {}
        for name, make in AGENTS.items():
            say(f"decisions of {name} by {title}")
            result[title][name] = [
                (size, decision_nanoseconds(*setting(size), make(5))) for size in sizes
            ]
    return result


def encodings(say: Callable[[str], None]) -> dict[str, float]:
    """Encodings a second of two-dimensional observations, by feature map."""
    say("encodings by feature map")
    return beside("encoding").encodings()


def options(say: Callable[[str], None]) -> dict[str, dict[int, float]]:
    """Nanoseconds a step by how many options there are beside four actions."""
    say("steps with options")
    return beside("options").costs()


def options_table(costs: dict[str, dict[int, float]]) -> Any:
    """Steps with more and more options, side by side with actions only."""
    from rich.table import Table

    table = Table(title="Algorithm 1, two rooms, 5 planning steps: ns a step by choices")
    table.add_column("models of options")
    for count in costs["given"]:
        title = f"4 actions, {count} options" if count else "4 actions only"
        table.add_column(title, justify="right")
    for name, times in costs.items():
        table.add_row(name, *(f"{time:.0f}" for time in times.values()))
    return table


def report(results: dict[str, Any]) -> None:
    """Print the tables for people."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 130)
    table = Table(title="Algorithm 1 on the corridor, d = 14, k = 5, one thread: ns a step")
    for column in ("planning steps", "expectant", "C", "C -ffast-math", "NumPy", "÷ C",
                   "÷ C fast", "NumPy ÷ expectant", "same returns"):  # fmt: skip
        table.add_column(column, justify="right")
    for row in results["side_by_side"]:
        mine, c, fast = row["expectant"], row.get("c"), row.get("c_fast_math")
        table.add_row(
            str(row["planning_steps"]), f"{mine:.0f}", f"{c:.0f}" if c else "no gcc",
            f"{fast:.0f}" if fast else "", f"{row['numpy']:.0f}",
            f"{mine / c:.2f}" if c else "", f"{mine / fast:.2f}" if fast else "",
            f"{row['numpy'] / mine:.0f}", "yes" if row["same_returns"] else "NO",
        )  # fmt: skip
    console.print(table)
    car = results["mountain_car"]
    console.print(
        f"mountain car, 8 tilings of 8×8, 5 planning steps: {car['expectant'] / 1e3:.1f} µs a step"
        + (f", in C {car['c'] / 1e3:.1f}" if "c" in car else ", no gcc")
        + f" (same returns: {'yes' if car['same_returns'] else 'NO'}); through Gymnasium, "
        f"Q-learning {car['gym_learning'] / 1e3:.1f}, at random {car['gym_random'] / 1e3:.1f}"
    )
    for name, took in results["sparse"].items():
        model, size = name.split()
        console.print(f"mountain car, {model} model of {int(size):,} features: {took / 1e3:.1f} µs")
    for what, title in (("threads", "two threads"), ("processes", "CartPole, two processes")):
        busy = beside("busy").in_words(results[what])
        console.print(f"{title} against one: {results[what]['ratio']:.2f} times as fast ({busy})\n")
    for unit, scale, key in (("µs a step", 1e3, "growth"), ("ns a decision", 1.0, "decisions")):
        for title, agents in results[key].items():
            table = Table(title=f"{unit} by {title}")
            table.add_column("agent")
            for size, _ in next(iter(agents.values())):
                table.add_column(f"{size:,}", justify="right")
            for name, times in agents.items():
                table.add_row(
                    name, *(f"{time / scale:.{2 if scale > 1 else 0}f}" for _, time in times)
                )
            console.print(table)
    for kind, costs in results["parts"].items():
        table = Table(title=f"Algorithm 1, 5 planning steps, d = 14: ns a step by {kind}")
        for name in costs:
            table.add_column(name, justify="right")
        table.add_row(*(f"{cost:.0f}" for cost in costs.values()))
        console.print(table)
    console.print(options_table(results["options"]))
    for name, speed in results["encodings"].items():
        console.print(f"{name}: {speed / 1e6:.2f} million encodings a second")
    for name, (value, target, met) in verdicts(results).items():
        console.print(f"{name}: {value:.2f} (target {target}) {'met' if met else 'MISSED'}")


def verdicts(results: dict[str, Any]) -> dict[str, tuple[float, str, bool]]:
    """The ratios that are promised, and whether they were kept in this run."""
    rows = {row["planning_steps"]: row for row in results["side_by_side"]}
    found: dict[str, tuple[float, str, bool]] = {}
    for steps in (5, 20):
        if "c" in rows[steps]:
            value, most = rows[steps]["expectant"] / rows[steps]["c"], TARGETS[f"c_{steps}"]
            found[f"time ÷ C, {steps} planning steps"] = (value, f"at most {most}", value <= most)
    value = rows[5]["numpy"] / rows[5]["expectant"]
    least = TARGETS["numpy_5"]
    found["NumPy ÷ time, 5 planning steps"] = (value, f"at least {least:.0f}", value >= least)
    car = results["mountain_car"]
    if "c" in car:
        value, most = car["expectant"] / car["c"], TARGETS["car"]
        found["mountain car, time ÷ C"] = (value, f"at most {most}", value <= most)
    value, least = car["gym_random"] / car["gym_learning"], TARGETS["gym"]
    found["steps a second through Gymnasium ÷ acting at random"] = (
        value, f"at least {least:.2f}", value >= least,
    )  # fmt: skip
    (_, dense), (_, small), *larger = results["sparse"].items()
    value, least = dense / small, TARGETS["sparse"]
    found["dense ÷ sparse model, mountain car"] = (value, f"at least {least}", value >= least)
    for name, took in larger:
        value, most, size = took / small, TARGETS["many"], int(name.split()[1])
        found[f"sparse model, {size:,} ÷ 2,312 features"] = (
            value,
            f"at most {most}",
            value <= most,
        )
    for what, title in (("threads", "one thread ÷ two"), ("processes", "one process ÷ two")):
        value, least = results[what]["ratio"], TARGETS[what]
        found[title] = (value, f"at least {least}", value >= least)
    name, speed = next(iter(results["encodings"].items()))
    value, least = speed / 1e6, TARGETS["encodings"]
    found[f"million encodings a second, {name}"] = (value, f"at least {least:.0f}", value >= least)
    return found


def main(as_json: bool = False) -> int:
    """Measure everything; 0 if all promised ratios were kept, 1 otherwise."""

    def say(text: str) -> None:
        print(f"measuring: {text}", file=sys.stderr, flush=True)

    results = {
        "side_by_side": side_by_side(say),
        "mountain_car": mountain_car(say),
        "sparse": sparse(say),
        "threads": threads(say),
        "processes": processes(say),
        "growth": growth(say),
        "decisions": decisions(say),
        "parts": parts(say),
        "options": options(say),
        "encodings": encodings(say),
    }
    if as_json:
        print(json.dumps({**results, "verdicts": verdicts(results)}, indent=2))
    else:
        report(results)
    return 0 if all(met for _, _, met in verdicts(results).values()) else 1
