"""Speed, measured side by side in one run: the library, hand-written C, plain NumPy.

Every number is the best of several interleaved repeats, so a busy machine disturbs all alike; what
counts are the ratios. Every row can be measured alone, by its name in :data:`ROWS`.
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
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import expectant as ex
from expectant.engine.away_pool import end_idle
from expectant.engine.compile.compiling import kernel_for
from expectant.engine.job import Job, loop_is_compiled
from expectant.seeds import streams_of

HERE = Path(__file__).parent
DOMAIN = ex.Corridor(slip=0.1, switch_every=500)
FEATURES = ex.RandomBinary(size=14, active=5)
FLAGS = ("-O3", "-march=native")
REPEATS = 5
TARGETS = {"c_5": 1.6, "c_20": 1.4, "numpy_5": 100.0, "threads": 1.6, "processes": 1.7,
           "first processes": 1.5, "encodings": 5.0, "car": 1.4, "gym": 1 / 3, "sparse": 5.0,
           "many": 1.5, "options": 1.3}  # fmt: skip


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


def tell(text: str) -> None:
    """Progress, for people."""
    print(text, file=sys.stderr, flush=True)


def tell_of_compiling(job: Job) -> None:
    """Say what is about to be compiled, which takes longer than to measure it."""
    if not loop_is_compiled(job):
        names = f"{type(job.agent).__name__} in {type(job.domain).__name__}"
        tell(f"  compiling {names} (once, then cached)")


# ------------------------------------------------------------------------------- the library


def ours(
    domain: Any, features: Any, agent: Any, episodes: int, step_limit: int = 10_000
) -> Callable[[], tuple[float, int]]:
    """A measurement of one run on one thread, compiling and building excluded."""
    job = Job(domain, features, agent, episodes=episodes, step_limit=step_limit)
    control = np.zeros(1, np.int64)
    tell_of_compiling(job)

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


def in_c(function: Any, agent: Any, episodes: int) -> Callable[[], tuple[float, int]]:
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
        pairs = [(seconds(1), seconds(2)) for _ in range(5)]
    one, two = (min(column) for column in zip(*pairs, strict=True))
    return {"one": one, "two": two, "ratio": one / two, **machine}


def processes(say: Callable[[str], None]) -> dict[str, Any]:
    """CartPole of Gymnasium in this process alone and with another, which is started at first.

    ``first`` includes that; ``two`` is a later call, for which it was kept.
    """
    say("one process against two")
    bounds = [(-2.4, 2.4), (-3, 3), (-0.21, 0.21), (-3, 3)]
    features = ex.Tiles(8, (2, 2, 4, 4), bounds=bounds)
    agent = ex.QLearning(0.2, step_unit="total", epsilon=0.05, discount=0.99, initial_value=30)

    def seconds(count: int) -> float:
        return ex.run(
            ex.Gym("CartPole-v1"), features, agent, steps=150_000, runs=8, threads=count,
            progress=False,
        ).seconds  # fmt: skip

    def starting() -> float:
        end_idle()
        return seconds(2)

    with beside("busy").watched() as machine:
        rounds = [(seconds(1), starting(), seconds(2)) for _ in range(2)]
    one, first, two = (min(column) for column in zip(*rounds, strict=True))
    ratios = {"first_ratio": one / first, "ratio": one / two}
    return {"one": one, "first": first, "two": two, **ratios, **machine}


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
            (14, 64, 256, 1024),
            lambda name, d: ours(
                ex.Corridor(), ex.RandomBinary(d, 5), AGENTS[name](5), 2 + 40_000 // d, 100
            ),
        ),
        "planning steps, d = 14": (
            (0, 5, 20, 100),
            lambda name, n: ours(ex.Corridor(), FEATURES, AGENTS[name](n), 20_000 // (5 + n)),
        ),
        "actions, d = 14, 5 planning steps": (
            (2, 16, 64, 256),
            lambda name, a: ours(many_actions(a), FEATURES, AGENTS[name](5), 2 + 6000 // a),
        ),
    }
    for title, (sizes, measurement) in tables.items():
        result[title] = {}
        for name in AGENTS:
            say(f"{name}: {title}")
            result[title][name] = [
                (size, nanoseconds(measurement(name, size), 2)) for size in sizes
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
            (2, 16, 64, 256), lambda n: (many_actions(n), ex.RandomBinary(64, 5)),
        ),
        "features (d), 2 actions": (
            (16, 256, 1024), lambda n: (ex.Corridor(), ex.RandomBinary(n, 5)),
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
    return beside("options").costs(tell_of_compiling)


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
    """Print the tables of what was measured, for people."""
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else 130)
    for name, found in results.items():
        for shown in SHOWN[name](found):
            console.print(shown)
    for name, (value, target, met) in verdicts(results).items():
        console.print(f"{name}: {value:.2f} (target {target}) {'met' if met else 'MISSED'}")


def show_side_by_side(rows: list[dict[str, Any]]) -> Iterator[Any]:
    from rich.table import Table

    table = Table(title="Algorithm 1 on the corridor, d = 14, k = 5, one thread: ns a step")
    for column in ("planning steps", "expectant", "C", "C -ffast-math", "NumPy", "÷ C",
                   "÷ C fast", "NumPy ÷ expectant", "same returns"):  # fmt: skip
        table.add_column(column, justify="right")
    for row in rows:
        mine, c, fast = row["expectant"], row.get("c"), row.get("c_fast_math")
        table.add_row(
            str(row["planning_steps"]), f"{mine:.0f}", f"{c:.0f}" if c else "no gcc",
            f"{fast:.0f}" if fast else "", f"{row['numpy']:.0f}",
            f"{mine / c:.2f}" if c else "", f"{mine / fast:.2f}" if fast else "",
            f"{row['numpy'] / mine:.0f}", "yes" if row["same_returns"] else "NO",
        )  # fmt: skip
    yield table


def show_mountain_car(car: dict[str, Any]) -> Iterator[Any]:
    yield (
        f"mountain car, 8 tilings of 8×8, 5 planning steps: {car['expectant'] / 1e3:.1f} µs a step"
        + (f", in C {car['c'] / 1e3:.1f}" if "c" in car else ", no gcc")
        + f" (same returns: {'yes' if car['same_returns'] else 'NO'}); through Gymnasium, "
        f"Q-learning {car['gym_learning'] / 1e3:.1f}, at random {car['gym_random'] / 1e3:.1f}"
    )


def show_sparse(times: dict[str, float]) -> Iterator[Any]:
    for name, took in times.items():
        model, size = name.split()
        yield f"mountain car, {model} model of {int(size):,} features: {took / 1e3:.1f} µs"


def show_ratio(title: str) -> Callable[[dict[str, Any]], Iterator[Any]]:
    def show(found: dict[str, Any]) -> Iterator[Any]:
        busy = beside("busy").in_words(found)
        yield f"{title} against one: {found['ratio']:.2f} times as fast ({busy})\n"

    return show


def show_processes(found: dict[str, Any]) -> Iterator[Any]:
    title = f"CartPole, two processes ({found['first_ratio']:.2f} in the first call)"
    return show_ratio(title)(found)


def show_times(unit: str, scale: float) -> Callable[[dict[str, Any]], Iterator[Any]]:
    def show(tables: dict[str, Any]) -> Iterator[Any]:
        from rich.table import Table

        digits = 2 if scale > 1 else 0
        for title, agents in tables.items():
            table = Table(title=f"{unit} by {title}")
            table.add_column("agent")
            for size, _ in next(iter(agents.values())):
                table.add_column(f"{size:,}", justify="right")
            for name, times in agents.items():
                table.add_row(name, *(f"{time / scale:.{digits}f}" for _, time in times))
            yield table

    return show


def show_parts(kinds: dict[str, dict[str, float]]) -> Iterator[Any]:
    from rich.table import Table

    for kind, costs in kinds.items():
        table = Table(title=f"Algorithm 1, 5 planning steps, d = 14: ns a step by {kind}")
        for name in costs:
            table.add_column(name, justify="right")
        table.add_row(*(f"{cost:.0f}" for cost in costs.values()))
        yield table


def show_encodings(speeds: dict[str, float]) -> Iterator[Any]:
    for name, speed in speeds.items():
        yield f"{name}: {speed / 1e6:.2f} million encodings a second"


# Every row: how it is measured, and how it is shown.
ROWS: dict[str, Callable[[Callable[[str], None]], Any]] = {
    "side_by_side": side_by_side,
    "mountain_car": mountain_car,
    "sparse": sparse,
    "threads": threads,
    "processes": processes,
    "growth": growth,
    "decisions": decisions,
    "parts": parts,
    "options": options,
    "encodings": encodings,
}
SHOWN: dict[str, Callable[[Any], Iterable[Any]]] = {
    "side_by_side": show_side_by_side,
    "mountain_car": show_mountain_car,
    "sparse": show_sparse,
    "threads": show_ratio("two threads"),
    "processes": show_processes,
    "growth": show_times("µs a step", 1e3),
    "decisions": show_times("ns a decision", 1.0),
    "parts": show_parts,
    "options": lambda costs: [options_table(costs), linear_in_choices(costs)],
    "encodings": show_encodings,
}


def linear_in_choices(costs: dict[str, dict[int, float]]) -> str:
    """What one more choice costs, and how far times lie from a line through them."""
    lines = []
    for name, times in costs.items():
        choices, took = np.array([4 + count for count in times]), np.array([*times.values()])
        slope, offset = np.polyfit(choices, took, 1)
        apart = np.abs(took / (offset + slope * choices) - 1.0).max()
        lines.append(
            f"{name} models: {offset:.0f} ns and {slope:.0f} ns for every action or option, "
            f"within {apart:.0%}"
        )
    return "; ".join(lines)


Found = dict[str, tuple[float, str, bool]]


def at_most(value: float, most: float) -> tuple[float, str, bool]:
    return value, f"at most {most}", value <= most


def at_least(value: float, least: float, digits: str = "") -> tuple[float, str, bool]:
    return value, f"at least {least:{digits}}", value >= least


def judge_side_by_side(listed: list[dict[str, Any]]) -> Found:
    rows = {row["planning_steps"]: row for row in listed}
    found: Found = {}
    for steps in (5, 20):
        if "c" in rows[steps]:
            ratio = rows[steps]["expectant"] / rows[steps]["c"]
            found[f"time ÷ C, {steps} planning steps"] = at_most(ratio, TARGETS[f"c_{steps}"])
    ratio = rows[5]["numpy"] / rows[5]["expectant"]
    found["NumPy ÷ time, 5 planning steps"] = at_least(ratio, TARGETS["numpy_5"], ".0f")
    return found


def judge_mountain_car(car: dict[str, Any]) -> Found:
    found: Found = {}
    if "c" in car:
        found["mountain car, time ÷ C"] = at_most(car["expectant"] / car["c"], TARGETS["car"])
    ratio = car["gym_random"] / car["gym_learning"]
    name = "steps a second through Gymnasium ÷ acting at random"
    return {**found, name: at_least(ratio, TARGETS["gym"], ".2f")}


def judge_sparse(times: dict[str, float]) -> Found:
    (_, dense), (_, small), *larger = times.items()
    found = {"dense ÷ sparse model, mountain car": at_least(dense / small, TARGETS["sparse"])}
    for name, took in larger:
        title = f"sparse model, {int(name.split()[1]):,} ÷ 2,312 features"
        found[title] = at_most(took / small, TARGETS["many"])
    return found


def judge_encodings(speeds: dict[str, float]) -> Found:
    name, speed = next(iter(speeds.items()))
    title = f"million encodings a second, {name}"
    return {title: at_least(speed / 1e6, TARGETS["encodings"], ".0f")}


def judge_options(costs: dict[str, dict[int, float]]) -> Found:
    growth = beside("options").growth
    return {
        f"one of 16 options ÷ one of 4, {name} models": at_most(growth(times), TARGETS["options"])
        for name, times in costs.items()
    }


JUDGED: dict[str, Callable[[Any], Found]] = {
    "side_by_side": judge_side_by_side,
    "mountain_car": judge_mountain_car,
    "sparse": judge_sparse,
    "threads": lambda found: {"one thread ÷ two": at_least(found["ratio"], TARGETS["threads"])},
    "processes": lambda found: {
        "one process ÷ two, first call": at_least(found["first_ratio"], TARGETS["first processes"]),
        "one process ÷ two, later calls": at_least(found["ratio"], TARGETS["processes"]),
    },
    "options": judge_options,
    "encodings": judge_encodings,
}


def verdicts(results: dict[str, Any]) -> Found:
    """The ratios that are promised, of what was measured, and whether they were kept."""
    found: Found = {}
    for name, row in results.items():
        if name in JUDGED:
            found |= JUDGED[name](row)
    return found


def main(as_json: bool = False, rows: Sequence[str] = ()) -> int:
    """Measure some rows, or all; 0 if all promised ratios were kept, 1 otherwise."""
    results: dict[str, Any] = {}
    wanted = [name for name in ROWS if not rows or name in rows]
    for place, name in enumerate(wanted, start=1):
        start = time.perf_counter()
        tell(f"row {place} of {len(wanted)}: {name}")
        results[name] = ROWS[name](lambda text: tell(f"  measuring: {text}"))
        tell(f"  {time.perf_counter() - start:.0f} s")
    if as_json:
        print(json.dumps({**results, "verdicts": verdicts(results)}, indent=2))
    else:
        report(results)
    return 0 if all(met for _, _, met in verdicts(results).values()) else 1
