"""What a step costs with options: the same agent with more actions, and with more options.

Two rooms with one-hot features and models that are given, so that a step is its decisions and
backups. The number of choices, actions and options together, is what time should follow.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import expectant as ex
from expectant.engine.compile.compiling import kernel_for
from expectant.engine.job import UNLIMITED, Job
from expectant.engine.loop import Budget

STEPS = 5_000  # of a round: so short that some rounds pass without an interruption
ROUNDS = 25
COUNTS = (0, 4, 8, 16)
AGENT = ex.Lookahead(0.1, 0.1, planning_steps=5, discount=0.99)


def agents(count: int) -> dict[str, ex.Lookahead]:
    """The agent with so many options: with models that are given, and with learned ones."""
    options = tuple(ex.BestOption(state) for state in range(count))
    if not options:
        return {"given": AGENT, "learned": AGENT}
    return {
        "given": AGENT.replace(options=ex.Repertoire(options, models="exact")),
        "learned": AGENT.replace(options=ex.Repertoire(options, step=0.01)),
    }


def nanoseconds_a_step(job: Job) -> float:
    """Of the processor's own time, in one round."""
    run, streams = job.prepare(0)
    kernel = kernel_for(run)
    start = time.process_time()
    kernel(run, Budget(UNLIMITED, STEPS, 1000), streams, np.zeros(1, np.int64))
    return (time.process_time() - start) / STEPS * 1e9


def costs(
    told: Callable[[Job], None] = lambda job: None, rounds: int = ROUNDS
) -> dict[str, dict[int, float]]:
    """Nanoseconds a step by how models are had and how many options there are.

    The least of many short rounds that take turns: others only ever make one slower, and a long
    round on a busy machine is never undisturbed.
    """
    found: dict[str, dict[int, float]] = {"given": {}, "learned": {}}
    jobs = {
        (name, count): Job(ex.TwoRooms(), ex.OneHot(), agent, step_limit=1000)
        for count in COUNTS
        for name, agent in agents(count).items()
    }
    for job in jobs.values():
        told(job)
    for _ in range(rounds):
        for (name, count), job in jobs.items():
            took = nanoseconds_a_step(job)
            found[name][count] = min(took, found[name].get(count, took))
    return found


def growth(times: dict[int, float]) -> float:
    """What one of the most options adds to a step, divided by what one of the fewest adds."""
    none, fewest, *_, most = (times[count] for count in COUNTS)
    return ((most - none) / COUNTS[-1]) / ((fewest - none) / COUNTS[1])


def main() -> None:
    """Print the table, and the cost of one more choice."""
    print(f"{'options':>8}{'choices':>9}{'given models':>15}{'learned models':>17}   ns a step")
    found = costs()
    for count in COUNTS:
        given, learned = found["given"][count], found["learned"][count]
        print(f"{count:8}{4 + count:9}{given:15.0f}{learned:17.0f}")


if __name__ == "__main__":
    main()
