"""Running agents side by side: ``ex.compare``."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from expectant.analysis.paired import holm_adjusted, paired_difference
from expectant.descriptions import near_miss
from expectant.engine.arguments import hinting
from expectant.engine.result import Result
from expectant.engine.run import run
from expectant.lab.compared import Comparison, Difference
from expectant.parts import Agent, Domain, Features
from expectant.progress import Reporter
from expectant.rules import flag
from expectant.show.naming import names_of
from expectant.show.references import common_optimum

LEVEL = 0.05  # the chance that any verdict at all is a mistake


@hinting
def compare(
    domain: Domain,
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
    """Run agents on the same seeds, print how they did (unless ``quiet``), and return all of it.

    ``agents`` is a dict by name, a list, or one agent. Each is compared with each other, run by
    run, or all with the one that ``reference`` names: the mean difference with its 95 % interval,
    and a verdict at 5 % after Holm's correction. All other arguments are those of ``ex.run``.
    """
    named = _named(agents)
    flag().check("compare", "quiet", quiet)
    if reference is not None and reference not in named:
        raise ValueError(
            f"compare: reference must be the name of an agent, got {reference!r}"
            + near_miss(str(reference), list(named))
        )
    results = {
        name: run(
            domain, features, agent, episodes=episodes, steps=steps, runs=runs, seed=seed,
            threads=threads, bins=bins, step_limit=step_limit, compiled=compiled,
            keep_agents=keep_agents, progress=progress,
        )
        for name, agent in named.items()
    }  # fmt: skip
    found = Comparison(
        results, differences_between(results, reference), common_optimum(list(results.values()))
    )
    if not quiet:
        print(found)
    return found


def differences_between(
    results: Mapping[str, Result], reference: str | None = None
) -> tuple[Difference, ...]:
    """The differences of all pairs, the later minus the earlier, or of all minus the reference."""
    pairs = (
        [(later, earlier) for earlier, later in itertools.combinations(results, 2)]
        if reference is None
        else [(name, reference) for name in results if name != reference]
    )
    found = [paired_difference(results[a].means, results[b].means) for a, b in pairs]
    chances = holm_adjusted(np.array([difference.chance for difference in found]))
    return tuple(
        Difference(
            *pair, each.mean, each.low, each.high, float(chance), each.above, each.below,
            _verdict(each.mean if np.isfinite(each.mean) else each.above - each.below, chance),
        )
        for pair, each, chance in zip(pairs, found, chances, strict=True)
    )  # fmt: skip


def _verdict(direction: float, chance: float) -> str:
    if chance > LEVEL or direction == 0.0:
        return "unclear"
    return "better" if direction > 0.0 else "worse"


def _named(agents: Any) -> dict[str, Agent]:
    """The agents by name, checked before anything runs."""
    if isinstance(agents, Mapping):
        named = {str(name): agent for name, agent in agents.items()}
    else:
        listed = list(agents) if isinstance(agents, Sequence) else [agents]
        named = dict(zip(names_of(listed), listed, strict=True))
    wrong = [agent for agent in named.values() if not isinstance(agent, Agent)]
    if wrong or not named:
        got = repr(wrong[0]) if wrong else "none"
        raise ValueError(f"compare: agents must be agents by name, at least one, got {got}")
    return named
