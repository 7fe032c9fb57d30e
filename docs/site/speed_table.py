"""Tables of speed, of what options, maintained weights and feature maps cost.

They are made from what ``expectant bench --json`` has printed:

    expectant bench --json > docs/measured/speed.json
    python docs/site/tables.py

Only ratios that are promised are in the README's: times differ from machine to machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

STORED = Path(__file__).parents[1] / "measured" / "speed.json"


def tables(stored: dict[str, Any]) -> dict[str, str]:
    """The tables by their names."""
    return {
        "speed": "\n".join(_rows(stored["verdicts"])),
        "options-cost": "\n".join(_cost_of_options(stored["options"])),
        "maintained": "\n".join(_maintained(stored)),
        "encodings": "\n".join(_encodings(stored["encodings"])),
    }


STEPS, DECISIONS = "features (d), 5 planning steps", "features (d), 2 actions"
PLAIN, MAINTAINED = "Algorithm 1", "Algorithm 1, maintained"


def _maintained(stored: dict[str, Any]) -> Iterator[str]:
    """What ``maintained=True`` does to a decision and to a whole step, by number of features."""
    rows = (
        ("a decision, 2 actions", stored["decisions"][DECISIONS]),
        ("a step with 5 planning steps", stored["growth"][STEPS]),
    )
    sizes = sorted({size for _, found in rows for size, _ in found[PLAIN]})
    yield "| time with ÷ without | " + " | ".join(f"d = {size:,}" for size in sizes) + " |"
    yield "|---|" + "---|" * len(sizes)
    for name, found in rows:
        plain, kept = dict(found[PLAIN]), dict(found[MAINTAINED])
        cells = (f"{kept[size] / plain[size]:.2g}" if size in kept else "–" for size in sizes)
        yield f"| {name} | " + " | ".join(cells) + " |"


def _encodings(speeds: dict[str, float]) -> Iterator[str]:
    """Encodings a second by feature map, with the size of its vectors."""
    from encoding import MAPS, Square

    yield "| map | d | k | million a second |"
    yield "|---|---|---|---|"
    for name, speed in speeds.items():
        shape = MAPS[name].shape(Square())
        yield f"| {name} | {shape.size:,} | {shape.active} | {speed / 1e6:.1f} |"


def _cost_of_options(costs: dict[str, dict[str, float]]) -> Iterator[str]:
    """Nanoseconds a step, and what each option adds to a step without any."""
    counts = list(costs["given"])
    yield "| models of options | " + " | ".join(f"{count} options" for count in counts) + " |"
    yield "|---|" + "---|" * len(counts)
    for name, times in costs.items():
        cells = (f"{time:,.0f}{_each(times, int(count))}" for count, time in times.items())
        yield f"| {name} | " + " | ".join(cells) + " |"


def _each(times: dict[str, float], count: int) -> str:
    return f" ({(times[str(count)] - times['0']) / count:,.0f} each)" if count else ""


def _rows(verdicts: dict[str, tuple[float, str, bool]]) -> Iterator[str]:
    yield "| ratio | measured | promised |"
    yield "|---|---|---|"
    for name, (ratio, promise, kept) in verdicts.items():
        yield f"| {name} | {ratio:.3g} | {promise}{'' if kept else ': not kept'} |"
