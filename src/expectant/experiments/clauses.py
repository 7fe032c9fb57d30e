"""Clauses: the statements that make up a claim, and the runs' evidence on each of them.

A clause is about one number: a metric of some agents, less that of others. Claims on the cost of a
decision count the stored numbers that an agent reads, so that their verdict is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from expectant.analysis.looks import error_share
from expectant.analysis.panel import Panel
from expectant.analysis.verdicts import (
    ABOUT,
    ABOVE,
    AT_LEAST,
    Finding,
    Statement,
    assess_exact,
    assess_interval,
    combine_intervals,
    pseudo_values,
    subsample_weights,
)
from expectant.analysis.verdicts import assess as assess_runs
from expectant.core.interfaces import Agent
from expectant.core.rules import Rule, at_least, between, flag, number, whole
from expectant.core.tree import map_leaves
from expectant.core.verbs import act
from expectant.domains.finite import FiniteMDP
from expectant.engine.setup import Setup
from expectant.experiments.config_file import build_component
from expectant.experiments.metrics import SHARE, Metric, Of, find_metric
from expectant.experiments.toml_tables import (
    ConfigError,
    check_known,
    key,
    list_of,
    table,
    table_of,
    text,
    texts,
)
from expectant.features.discrete import RandomBinary

FIGURES = 1000  # resampled figures of the source's size, for the replication probability
METRIC = Rule("the name of a metric", find_metric)
MARGIN = at_least(0.0)
NUMBERS = list_of(whole(1), "whole numbers, 1 or more")


@dataclass(frozen=True, kw_only=True)
class AgentGroups:
    """Agents, and those whose mean is subtracted."""

    of: tuple[str, ...] = key(texts(), ())
    minus: tuple[str, ...] = key(texts(), ())


@dataclass(frozen=True, kw_only=True)
class Clause(AgentGroups):
    """Statement about a metric: mean over the agents ``of``, less that over ``minus``.

    It is above ``low``, from ``low`` to ``high``, ``at_least`` or ``about`` a number.
    ``relative_margin``: the margin is at most this share of the metric of ``of``.
    ``beyond``: two more groups of agents, whose difference is subtracted.
    ``across``: on average over panels, instead of in each of them.
    ``figure``: its panels; empty: those of the claim's figure.
    ``names``: of agents in sentences, instead of their labels.
    """

    metric: Metric = key(METRIC)
    low: float | None = key(number(), None)
    high: float | None = key(number(), None)
    at_least: float | None = key(number(), None)
    about: float | None = key(number(), None)
    margin: float | None = key(MARGIN, None)
    relative_margin: float = key(between(0, 1), 0.0)
    across: bool = key(flag(), False)
    figure: str = key(text(), "")
    beyond: AgentGroups = key(table(AgentGroups), AgentGroups())
    names: Mapping[str, str] = key(table_of(text()), {})

    def __post_init__(self) -> None:
        if not self.of:
            raise ConfigError("at least one is needed", "of")
        statement = self.statement  # which refuses contradictions
        if self.relative_margin and (self.margin is None or statement.kind != ABOVE):
            raise ConfigError("goes with margin, for a number above low", "relative_margin")

    @property
    def statement(self) -> Statement:
        """The statement about the number, with the margin that is given."""
        kinds = {"low": ABOVE, "at_least": AT_LEAST, "about": ABOUT}
        stated = {name: getattr(self, name) for name in kinds if getattr(self, name) is not None}
        if self.high is not None:
            low = stated.pop("low", 0.0)
            if stated or self.margin is not None:
                raise ConfigError("goes with low alone", "high")
            if not low < self.high:
                raise ConfigError(f"must be above low ({low:g}), got {self.high:g}", "high")
            return Statement(ABOUT, (low + self.high) / 2.0, (self.high - low) / 2.0)
        if len(stated) > 1:
            raise ConfigError(f"must have one of {', '.join(stated)}")
        ((name, reference),) = stated.items() or [("low", 0.0)]
        return Statement(kinds[name], reference, self.margin or 0.0)

    def check_agents(self, agents: list[str]) -> None:
        """Refuse agents that the figure does not have."""
        paths = (("of",), ("minus",), ("beyond", "of"), ("beyond", "minus"))
        for path, group in zip(paths, self.groups, strict=True):
            check_known("no agent in this figure:", group, agents, *path)

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The groups of agents that are added, subtracted, subtracted and added."""
        return self.of, self.minus, self.beyond.of, self.beyond.minus

    @property
    def keys(self) -> tuple[str, ...]:
        """All agents of the clause, group by group."""
        return tuple(agent for group in self.groups for agent in group)

    @property
    def weights(self) -> np.ndarray:
        """Weights of the agents' metrics in the number."""
        signs = zip((1.0, -1.0, -1.0, 1.0), self.groups, strict=True)
        return np.array([sign / len(group) for sign, group in signs for _ in group])

    def subject(self, labels: Mapping[str, str]) -> str:
        """Return the number of the clause in words."""
        names = {**labels, **self.names}
        of, minus, *beyond = (
            " and ".join(dict.fromkeys(names.get(key, key) for key in group))
            for group in self.groups
        )
        title, difference = self.metric.title, " minus that of ".join(filter(None, (of, minus)))
        less = " minus that of ".join(filter(None, beyond))
        mean = "mean over panels of the " if self.across else ""
        return f"{mean}{title} of {difference}" + (f", less the {title} of {less}," if less else "")

    def sentence(self) -> str:
        """Return the statement in words."""
        kind, reference, margin = self.statement
        stated = f"{kind} {reference:g}, give or take {margin:g}"
        if kind == ABOVE:
            stated = f"above {reference:g} by more than {margin:g}"
        if self.relative_margin:
            base = "the first of the two" if self.metric.base else "the greater one"
            stated += f", or {self.relative_margin:.0%} of {base} if that is less"
        where = f" (figure {self.figure})" if self.figure else ""
        return f"{self.subject({})} is {stated}{where}"

    # ---------------------------------------------------------------------------------- statistics

    def curves_of(self, panels: Sequence[Panel]) -> list[np.ndarray]:
        """Return the curves (runs, bins) of every agent, panel by panel, cut to the fewest runs."""
        curves = []
        for panel in panels:
            by_agent = panel.curves if self.metric.of_diverged else panel.clipped
            curves += [by_agent[key] for key in self.keys]
        fewest = min(curve.shape[0] for curve in curves)
        return [curve[:fewest] for curve in curves]

    def terms(
        self, panels: Sequence[Panel], others: Sequence[Panel] = ()
    ) -> tuple[list[Panel], np.ndarray]:
        """Return the panel and the weight of every curve in the number, panel by panel.

        That of ``others`` is subtracted.
        """
        weights = [self.weights / len(panels)] * len(panels)
        weights += [-self.weights / len(others)] * len(others) if others else []
        return [p for p in (*panels, *others) for _ in self.keys], np.concatenate(weights)

    def statement_in(self, panels: Sequence[Panel]) -> Statement:
        """Return the statement with its margin in these panels."""
        if not self.relative_margin:
            return self.statement
        base = self.metric.base or self.metric.of
        levels = [
            base(panel, curve if self.metric.per_run else curve.mean(axis=0)[None]).mean()
            for panel in panels
            for curve in self.curves_of([panel])[: len(self.of)]
        ]
        share = self.relative_margin * abs(float(np.mean(levels)))
        return self.statement._replace(margin=min(self.statement.margin, share))

    def find(
        self, panels: Sequence[Panel], others: Sequence[Panel] = (), looks: Sequence[int] = ()
    ) -> Finding:
        """Assess the statement by the runs of these panels, paired by their numbers.

        With ``others``: assess whether it is the same in those, within the margin. ``looks``: the
        numbers of runs after which it is assessed.
        """
        first, metric, runs = panels[0], self.metric, self.curves_of([*panels, *others])
        owners, weights = self.terms(panels, others)
        prefix = f"{first.panel}: " if first.panel and not self.across else ""
        label, statement = prefix + self.subject(first.labels), self.statement_in(panels)
        if others:
            statement = Statement(ABOUT, 0.0, statement.margin)

        def numbers(curves: Sequence[np.ndarray], of: Of = metric.of) -> np.ndarray:
            return np.array([of(p, curve) for p, curve in zip(owners, curves, strict=True)])

        share = error_share(looks, runs[0].shape[0])
        assess = partial(assess_runs, share=share)
        whole = [curve.mean(axis=0)[None] for curve in runs]
        if (interval := metric.interval) is not None:
            values, related = numbers(runs if metric.per_run else whole), np.eye(len(runs))
            estimates = values.mean(axis=1)
            if metric.per_run and len(runs) > 1:
                with np.errstate(invalid="ignore"):  # a share of none or all has no correlation
                    related += np.nan_to_num(np.corrcoef(values)) * (1.0 - related)

            def interval_at(tail: float) -> tuple[float, float]:
                ends = [interval(p, curve, tail) for p, curve in zip(owners, runs, strict=True)]
                return combine_intervals(estimates, np.array(ends), weights, related)

            effect, count = float(weights @ estimates), runs[0].shape[0]
            finding = assess_interval(effect, interval_at, statement, label, count, share)
            if metric.per_run and metric.unit != SHARE:
                finding = finding.with_runs(weights @ values)
        elif metric.per_run:
            finding = assess(weights @ numbers(runs), statement, label)
        elif metric.crossed is not None:
            values, bias = weights @ numbers(runs, metric.crossed), (0.0, 0.0)
            if metric.bias is not None:
                most = np.array([metric.bias(p, c) for p, c in zip(owners, runs, strict=True)])
                down = np.where(weights > 0.0, most.T, most.T[::-1]) @ np.abs(weights)
                bias = float(down[0]), float(down[1])
            finding = assess(values, statement, label, bias=bias)
        else:
            effect = float(weights @ numbers(whole)[:, 0])
            values = pseudo_values(lambda *curves: weights @ numbers(curves), runs)
            finding = assess(values, statement, label, effect)
        return finding._replace(unit=metric.unit or first.quantity)

    def holds_in_samples(self, panels: Sequence[Panel], size: int) -> np.ndarray:
        """Return (FIGURES,): does a resampled figure of ``size`` runs show it?"""
        curves = self.curves_of(panels)
        weights = subsample_weights(curves[0].shape[0], size, FIGURES)
        if not self.metric.per_run:
            curves = [weights @ curve for curve in curves]
        owners, signs = self.terms(panels)
        values = signs @ np.array(
            [self.metric.of(p, curve) for p, curve in zip(owners, curves, strict=True)]
        )
        if self.metric.per_run:
            values = weights @ values
        return self.statement_in(panels).is_satisfied_by(values)


# ------------------------------------------------------------------------------ cost of a decision


class CountingArray(np.ndarray):
    """An array that counts the elements read from it, one by one or as whole rows of a table."""

    reads = 0

    def __getitem__(self, where: Any) -> Any:
        elements = super().__getitem__(where)
        if isinstance(elements, CountingArray) and not isinstance(where, tuple):
            return elements  # a view, nothing has been read yet
        CountingArray.reads += np.size(elements)
        return np.asarray(elements) if isinstance(elements, CountingArray) else elements


def count_reads(agent: Any, actions: int, features: int, active: int) -> int:
    """Count the numbers that an agent reads for one decision."""

    def count_leaf(leaf: Any) -> Any:
        is_table = isinstance(leaf, np.ndarray) and leaf.dtype == float
        return leaf.view(CountingArray) if is_table else leaf

    domain = FiniteMDP(np.ones((1, actions, 2)) * [0.0, 1.0], np.zeros((1, actions)))
    setup = Setup(domain, RandomBinary(features, active), agent, episodes=1, step_limit=1)
    prepared, streams = setup.build(0)
    prepared.state.active[:] = prepared.features.active[0]
    CountingArray.reads = 0
    act(map_leaves(count_leaf, prepared.agent), prepared.state, streams.acting)
    return CountingArray.reads


AGENT = Rule("an agent", lambda value: build_component(Agent, "agent", table().convert(value)))


@dataclass(frozen=True, kw_only=True)
class CostRule:
    """The claim that a decision costs the first agent more than the others, growing with size.

    ``actions`` × ``features`` is the grid of sizes, of which the corners count, with ``active``
    active features. ``much_more`` exceeds the constant factors of implementations.
    """

    agents: Mapping[str, Any] = key(table_of(AGENT))
    actions: tuple[int, ...] = key(NUMBERS)
    features: tuple[int, ...] = key(NUMBERS)
    active: int = key(whole(1))
    much_more: float = key(number())
    names: Mapping[str, str] = key(table_of(text()), {})

    @property
    def rule(self) -> str:
        first = next(iter(self.agents))
        return (
            "Numbers read for one decision, at the corners of a grid of actions and features: at "
            f"the largest point {self.names.get(first, first)} reads at least {self.much_more:g} "
            "times as many as each cached agent; from fewest to most actions its reads grow to at "
            f"least {self.much_more:g} times themselves; from fewest to most features they grow at "
            f"least {self.much_more:g} times as much as theirs. Counts are exact: the interval is "
            "the number itself."
        )

    def find(self, count: Callable[[Any, int, int, int], float] = count_reads) -> list[Finding]:
        """Compare the counts of the first agent with those of the others."""
        actions, features = ((min(sizes), max(sizes)) for sizes in (self.actions, self.features))
        counts = []
        for name, agent in self.agents.items():
            reads = [[count(agent, a, f, self.active) for f in features] for a in actions]
            counts.append((self.names.get(name, name), np.array(reads, float)))
        (name, first), *others = counts
        ratios = [(f"growth with the actions of {name}", first[1] / first[0])]
        for label, other in others:
            times, subject = first / other, f"of {name}, times that of {label},"
            ratios.append((f"growth with the features {subject}", times[:, 1] / times[:, 0]))
            ratios.append((f"work at the largest point {subject}", times[1, 1]))
        least = Statement(AT_LEAST, self.much_more)
        return [assess_exact(float(np.min(ratio)), least, label) for label, ratio in ratios]
