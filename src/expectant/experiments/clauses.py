"""Clauses: statements about one metric that make up a claim, as read from ``claims.toml``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from expectant.analysis.panel import Panel
from expectant.analysis.verdicts import (
    ABOUT,
    ABOVE,
    AT_LEAST,
    CROSS_FIT_WIDENING,
    Finding,
    Statement,
    assess,
    clip_at_floor,
    pseudo_values,
    subsample_weights,
)
from expectant.core.rules import Rule, at_least, between, flag, number
from expectant.experiments.decision_cost import NUMBERS
from expectant.experiments.metrics import METRICS, Metric, Of
from expectant.experiments.toml_tables import ConfigError, check_known, key, table, text, texts

FIGURES = 1000  # resampled figures of the source's size, for the replication probability


@dataclass(frozen=True)
class Clause:
    """Statement about a metric: mean over the agents ``of``, less that over ``minus``.

    ``beyond``: two more groups of agents, whose difference is subtracted.
    ``across``: on average over panels, instead of in each of them.
    ``figure``: its panels; empty: those of the claim's figure.
    ``relative``: the margin is at most this share of the metric of ``of``.
    ``names``: of agents in sentences, instead of their labels.
    """

    metric: Metric
    of: tuple[str, ...]
    minus: tuple[str, ...] = ()
    statement: Statement = field(default_factory=Statement)
    across: bool = False
    figure: str = ""
    beyond: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    relative: float = 0.0
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[str, ...]:
        """All agents of the clause, group by group."""
        return (*self.of, *self.minus, *self.beyond[0], *self.beyond[1])

    @property
    def weights(self) -> np.ndarray:
        """Weights of the agents' metrics in the number."""
        signs = zip((1.0, -1.0, -1.0, 1.0), (self.of, self.minus, *self.beyond), strict=True)
        return np.concatenate([[sign / len(g)] * len(g) for sign, g in signs if g])

    def subject(self, labels: Mapping[str, str]) -> str:
        """Return the number of the clause in words."""
        names = {**labels, **self.names}

        def join(keys: Sequence[str]) -> str:
            return " and ".join(dict.fromkeys(names.get(key, key) for key in keys))

        mean = "mean over panels of the " if self.across else ""
        sides = " minus that of ".join(filter(None, map(join, (self.of, self.minus))))
        beyond = " minus that of ".join(filter(None, map(join, self.beyond)))
        less = f", less the {self.metric.title} of {beyond}," if beyond else ""
        return f"{mean}{self.metric.title} of {sides}{less}"

    def sentence(self) -> str:
        """Return the statement in words."""
        kind, reference, margin = self.statement
        stated = {ABOVE: f"above {reference:g} by more than {margin:g}"}.get(
            kind, f"{kind} {reference:g}, give or take {margin:g}"
        )
        if self.relative:
            base = "the first of the two" if self.metric.base else "the greater one"
            stated += f", or {self.relative:.0%} of {base} if that is less"
        where = f" (figure {self.figure})" if self.figure else ""
        return f"{self.subject({})} is {stated}{where}"

    def statement_in(self, panels: Sequence[Panel]) -> Statement:
        """Return the statement with its margin in these panels."""
        if not self.relative:
            return self.statement
        base, agents = self.metric.base or self.metric.of, len(self.keys)
        curves = self.curves_of(panels)
        level = np.mean(
            [
                base(panel, curve.mean(axis=0)[None])[0]
                for index, panel in enumerate(panels)
                for curve in curves[index * agents :][: len(self.of)]
            ]
        )
        share = self.relative * abs(float(level))
        return self.statement._replace(margin=min(self.statement.margin, share))

    def value(
        self, panels: Sequence[Panel], curves: Sequence[np.ndarray], of: Of | None = None
    ) -> np.ndarray:
        """Compute the number (n,) from curves (n, bins) of every agent, panel by panel.

        ``of`` replaces the metric's function.
        """
        metric = of or self.metric.of
        owners = [panel for panel in panels for _ in self.keys]
        numbers = [metric(panel, curve) for panel, curve in zip(owners, curves, strict=True)]
        table = np.array(numbers).reshape(len(panels), len(self.keys), -1)
        return self.weights @ table.mean(axis=0)

    def curves_of(self, panels: Sequence[Panel]) -> list[np.ndarray]:
        """Return the curves (runs, bins) of every agent, panel by panel, cut to the fewest runs."""
        curves = []
        for panel in panels:
            by_agent = panel.curves if self.metric.of_diverged else clip_curves(panel)
            curves += [by_agent[key] for key in self.keys]
        fewest = min(curve.shape[0] for curve in curves)
        return [curve[:fewest] for curve in curves]

    def find(self, panels: Sequence[Panel], others: Sequence[Panel] = ()) -> Finding:
        """Assess the statement by the runs of these panels, paired by their numbers.

        With ``others``: assess by how much the number is greater than in those.
        """
        first, runs = panels[0], self.curves_of([*panels, *others])
        border = len(panels) * len(self.keys)
        prefix = f"{first.panel}: " if first.panel and not self.across else ""
        label, crossed = prefix + self.subject(first.labels), self.metric.crossed
        statement = self.statement_in(panels)
        if others:
            statement = Statement(ABOVE, 0.0, statement.margin)

        def number(*curves: np.ndarray, of: Of | None = None) -> np.ndarray:
            values = self.value(panels, curves[:border], of)
            return values - self.value(others, curves[border:], of) if others else values

        if self.metric.per_run:
            finding = assess(number(*runs), statement, label)
        elif crossed is not None:
            finding = assess(
                number(*runs, of=crossed), statement, label, widened=CROSS_FIT_WIDENING
            )
        else:
            effect = float(number(*(curve.mean(axis=0)[None] for curve in runs))[0])
            finding = assess(pseudo_values(number, runs), statement, label, effect)
        return finding._replace(unit=self.metric.unit or first.quantity)

    def holds_in_samples(self, panels: Sequence[Panel], size: int) -> np.ndarray:
        """Return (FIGURES,): does a resampled figure of ``size`` runs show it?"""
        curves = self.curves_of(panels)
        weights = subsample_weights(curves[0].shape[0], size, FIGURES)
        if self.metric.per_run:
            values = weights @ self.value(panels, curves)
        else:
            values = self.value(panels, [weights @ curve for curve in curves])
        return self.statement_in(panels).is_satisfied_by(values)


def clip_curves(panel: Panel) -> dict[str, np.ndarray]:
    """Return the curves of a panel by agent, with diverged and very bad bins at the floor."""
    clipped = clip_at_floor(list(panel.curves.values()), panel.floor, of_errors=panel.of_errors)
    return dict(zip(panel.curves, clipped, strict=True))


def _parse_metric(name: object) -> Metric:
    check_known("unknown", [name], sorted(METRICS))
    return METRICS[str(name)]


METRIC = Rule("the name of a metric", _parse_metric)
MARGIN = at_least(0.0)


@dataclass(frozen=True, kw_only=True)
class AgentGroups:
    """Agents, and those whose mean is subtracted."""

    of: tuple[str, ...] = key(texts(), ())
    minus: tuple[str, ...] = key(texts(), ())


@dataclass(frozen=True, kw_only=True)
class ClauseTable(AgentGroups):
    """One of the ``clauses`` of a claim; ``switch`` and ``falls`` make several of it."""

    metric: Metric = key(METRIC)
    falls: tuple[str, ...] = key(texts(), ())
    low: float | None = key(number(), None)
    high: float | None = key(number(), None)
    at_least: float | None = key(number(), None)
    about: float | None = key(number(), None)
    margin: float | None = key(MARGIN, None)
    relative_margin: float = key(between(0, 1), 0.0)
    across: bool = key(flag(), False)
    switch: tuple[int, ...] = key(NUMBERS, ())
    figure: str = key(text(), "")
    beyond: AgentGroups = key(table(AgentGroups), AgentGroups())

    def __post_init__(self) -> None:
        if bool(self.falls) == bool(self.of):
            raise ConfigError("must have of, or falls, and not both")
        if len(self.falls) == 1:
            raise ConfigError("must be two agents or more", "falls")
        if self.switch and self.metric.at is None:
            raise ConfigError(f"{self.metric.name!r} is not a metric of single switches", "switch")
        if self.relative_margin:
            if self.margin is None or self.at_least is not None or self.about is not None:
                raise ConfigError("goes with margin, for a number above low", "relative_margin")
            if self.metric.per_run or self.beyond != AgentGroups():
                raise ConfigError(
                    f"needs a metric of mean curves and no beyond, got {self.metric.name!r}",
                    "relative_margin",
                )

    @property
    def statement(self) -> Statement:
        """The statement: above ``low``, from ``low`` to ``high``, ``at_least`` or ``about``."""
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
        for name, reference in stated.items():
            return Statement(kinds[name], reference, self.margin or 0.0)
        return Statement(ABOVE, 0.0, self.margin or 0.0)

    def clauses(self, agents: list[str], names: Mapping[str, str]) -> Iterator[Clause]:
        """Yield a clause for every switch and every pair of agents, which must be known."""
        named = {
            ("of",): self.of, ("minus",): self.minus, ("falls",): self.falls,
            ("beyond", "of"): self.beyond.of, ("beyond", "minus"): self.beyond.minus,
        }  # fmt: skip
        for path, group in named.items():
            check_known("no agent in this figure:", group, agents, *path)
        sides: list[tuple[tuple[str, ...], tuple[str, ...]]] = [(self.of, self.minus)]
        if self.falls:
            sides = [((more,), (less,)) for more, less in pairwise(self.falls)]
        at = self.metric.at
        metrics = [at(number) for number in self.switch] if at else []
        for of, minus in sides:
            for metric in metrics or [self.metric]:
                clause = Clause(
                    metric, of, minus, self.statement, self.across, self.figure,
                    (self.beyond.of, self.beyond.minus), self.relative_margin,
                )  # fmt: skip
                yield replace(clause, names={k: names[k] for k in clause.keys if k in names})
