"""Run agents on the same seeds and compare them run by run: ``ex.compare``."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from expectant.analysis.verdicts import holm_correction, paired_difference
from expectant.core import formatting as tables
from expectant.core.config import suggest_name
from expectant.core.interfaces import Agent, Domain, Features
from expectant.core.rules import flag
from expectant.domains.external import GymSource
from expectant.domains.gym import as_domain
from expectant.engine.progress import Reporter
from expectant.engine.result import Result, estimate_of, extent_of, measure_of
from expectant.engine.run import check_arguments, compile_agents, run
from expectant.exact.reference_return import Optimum, common_optimum
from expectant.report.formatting import agent_names
from expectant.report.plot import plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVEL = 0.05  # significance level of all verdicts together


class Difference(NamedTuple):
    """``name`` minus ``reference``: the mean over pairs of runs with its 95 % interval.

    ``p_value`` is after Holm's correction, ``verdict`` is better, worse or unclear; ``above`` and
    ``below`` count pairs. With a diverged run there is no mean (NaN), and the verdict is that of a
    sign test in which a diverged run is worse than any other.
    """

    name: str
    reference: str
    mean: float
    low: float
    high: float
    p_value: float
    above: int
    below: int
    verdict: str


@dataclass(frozen=True, eq=False)
class Comparison:
    """The ``results`` of ``ex.compare`` by name, and ``differences``; printing it shows both."""

    results: dict[str, Result]
    differences: tuple[Difference, ...]
    optimum: Optimum

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw all learning curves; ``path`` writes them as .png, .svg or .pdf, see ``ex.plot``."""
        return plot(self.results, path)

    def __repr__(self) -> str:
        return f"Comparison({', '.join(self.results)}: {extent_of(self._first)})"

    @property
    def _first(self) -> Result:
        return next(iter(self.results.values()))

    @cached_property
    def _estimates(self) -> dict[str, tuple[float, float, float]]:
        return {name: estimate_of(result) for name, result in self.results.items()}

    def __str__(self) -> str:
        ends = [end for estimate in self._estimates.values() for end in estimate]
        decimals = tables.decimals_for([*ends, self.optimum.value])
        rows = [
            [
                name,
                tables.number_text(mean, decimals),
                tables.interval_text(low, high, decimals),
                str(int(self.results[name].diverged.sum())),
            ]
            for name, (mean, low, high) in self._estimates.items()
        ]
        best = tables.number_text(self.optimum.value, decimals)
        note = f"epsilon-greedy on exact optimal values, epsilon {self.optimum.epsilon:g}: {best}"
        heads = ("agent", f"mean {measure_of(self._first)}", "95 % interval", "diverged")
        title = f"{self._first.domain.display_name}, {extent_of(self._first)} each"
        lines = [title, "", tables.text_table(heads, rows, left=(0, 2))]
        lines += [note] if self.optimum.is_known else []
        if self.differences:
            heads = ("difference", "mean", "95 % interval", "verdict")
            rows = [_difference_row(difference, decimals) for difference in self.differences]
            lines += ["", tables.text_table(heads, rows, left=(0, 2, 3))]
        if len(self.differences) > 1:
            lines.append(f"p-values are corrected for {len(self.differences)} comparisons (Holm)")
        if self.differences and any(result.diverged.any() for result in self.results.values()):
            lines.append("a diverged run counts as worse than any that has not diverged")
        return "\n".join(lines)


def _difference_row(difference: Difference, decimals: int) -> list[str]:
    name, reference, mean, low, high, p_value, above, below, verdict = difference
    interval = tables.interval_text(low, high, decimals, signed=True)
    return [
        f"{name} against {reference}",
        tables.number_text(mean, decimals, signed=True),
        f"above in {above}, below in {below}" if interval == tables.NONE else interval,
        f"{verdict} ({'p < 0.001' if p_value < 0.001 else f'p = {p_value:.3f}'})",
    ]


@check_arguments()
def compare(
    domain: Domain | GymSource,
    features: Features,
    agents: Mapping[str, Agent] | Sequence[Agent] | Agent,
    *,
    episodes: int | None = None,
    steps: int | None = None,
    runs: int = 30,
    seed: int = 0,
    threads: int | None = None,
    bins: int = 100,
    step_limit: int | None = None,
    compiled: bool | None = None,
    keep_agents: bool = False,
    progress: bool | Reporter = True,
    reference: str | None = None,
    quiet: bool = False,
) -> Comparison:
    """Run agents on the same seeds, print a comparison (unless ``quiet``), and return it.

    ``agents`` is a dict by name, a list, or one agent. Each is compared with each other, run by
    run, or all with the one that ``reference`` names: the mean difference with its 95 % interval,
    and a verdict at 5 % after Holm's correction. All other arguments are those of ``ex.run``.
    """
    named = _name_agents(agents)
    flag().check("compare", "quiet", quiet)
    if reference is not None and reference not in named:
        raise ValueError(
            f"compare: reference must be the name of an agent, got {reference!r}"
            + suggest_name(str(reference), list(named))
        )
    domain = as_domain(domain)
    compile_agents(domain, features, named, threads, compiled, progress)
    results = {
        name: run(
            domain, features, agent, episodes=episodes, steps=steps, runs=runs, seed=seed,
            threads=threads, bins=bins, step_limit=step_limit, compiled=compiled,
            keep_agents=keep_agents, progress=progress,
        )
        for name, agent in named.items()
    }  # fmt: skip
    differences = differences_between({name: r.means for name, r in results.items()}, reference)
    comparison = Comparison(results, differences, common_optimum(list(results.values())))
    if not quiet:
        print(comparison)
    return comparison


def differences_between(
    values: Mapping[str, np.ndarray], reference: str | None = None
) -> tuple[Difference, ...]:
    """Compare all pairs, the later minus the earlier, or all with the reference.

    ``values`` (runs,) are one number per run; more is better.
    """
    pairs = (
        [(later, earlier) for earlier, later in itertools.combinations(values, 2)]
        if reference is None
        else [(name, reference) for name in values if name != reference]
    )
    differences = [paired_difference(values[a], values[b]) for a, b in pairs]
    p_values = holm_correction(np.array([difference.p_value for difference in differences]))
    return tuple(
        Difference(
            *pair, each.mean, each.low, each.high, float(p_value), each.above, each.below,
            _verdict(each.mean if np.isfinite(each.mean) else each.above - each.below, p_value),
        )
        for pair, each, p_value in zip(pairs, differences, p_values, strict=True)
    )  # fmt: skip


def _verdict(direction: float, p_value: float) -> str:
    if p_value > LEVEL or direction == 0.0:
        return "unclear"
    return "better" if direction > 0.0 else "worse"


def _name_agents(agents: Any) -> dict[str, Agent]:
    """Return the agents by name, checked before anything runs."""
    if isinstance(agents, Mapping):
        named = {str(name): agent for name, agent in agents.items()}
    else:
        listed = list(agents) if isinstance(agents, Sequence) else [agents]
        named = dict(zip(agent_names(listed), listed, strict=True))
    wrong = [agent for agent in named.values() if not isinstance(agent, Agent)]
    if wrong or not named:
        got = repr(wrong[0]) if wrong else "none"
        raise ValueError(f"compare: agents must be agents by name, at least one, got {got}")
    return named
