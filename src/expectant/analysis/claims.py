"""The paper's claims as data, and the verdict on each of them from learning curves.

A claim is made of parts, all of which must hold. The sentence of its rule is written from the
parts themselves, so that it says what is computed. Nothing here knows the answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from expectant.analysis.adaptation import (
    DROP,
    LOWEST,
    RECOVERY,
    RISE,
    SHORTENING,
    drop_after,
    recovery_after,
)
from expectant.analysis.comparison import (
    FAILS,
    HOLDS,
    LEVEL,
    RESAMPLES,
    UNDECIDED,
    Decision,
    Estimate,
    Measure,
    Outcome,
    Part,
    Unavailable,
    all_of,
)
from expectant.analysis.panel import Panel

FINAL_SHARE = 0.25  # of the bins: late enough to have settled, long enough to average the noise
NEAR_OPTIMUM = 0.05  # a thirteenth of what the wrong exit of the counterexample costs
REACHES = 0.31  # 5 % of the optimum of figure 3, hard to see in a drawn curve
FALLS_TO, ABOUT = -7.0, 2.0  # the number was read from a curve whose range is about twenty
MUCH_MORE = 4.0  # times the work: more than the constant factors of different implementations
AS_FAST = 0.95  # of the others' growth: the fixed costs of a decision hide a little of it

Q, EXPECTATION, TRUE = "q_learning", "q_planning_expectation", "q_planning_true"
STEPS_1, STEPS_5, STEPS_20 = (f"q_planning_true_{steps}" for steps in (1, 5, 20))
LOOKAHEAD, VALUES, POLICY = "lookahead", "cached_values", "cached_policy"
NAMES = {
    Q: "Q-learning",
    EXPECTATION: "Q-planning with an expectation model",
    TRUE: "Q-planning with the true model",
    STEPS_1: "1 planning step",
    STEPS_5: "5 planning steps",
    STEPS_20: "20 planning steps",
    LOOKAHEAD: "look-ahead",
    VALUES: "cached action values",
    POLICY: "cached policy",
}
NOTHING = Decision(UNDECIDED, Estimate(math.nan, math.nan, math.nan), -math.inf)
Counts = Mapping[str, Mapping[tuple[int, int], float]]


@dataclass(frozen=True)
class Claim:
    """A statement about a figure, and the parts that decide it (none: counted work does)."""

    id: int
    figure: str
    claim: str
    parts: tuple[Part, ...] = ()

    @property
    def rule(self) -> str:
        if not self.parts:
            return WORK_RULE
        measures = {part.measure.name: part.measure for part in self.parts}.values()
        stated = "; and ".join(part.sentence(NAMES) for part in self.parts)
        meant = ". ".join(f"{m.name.capitalize()}: {m.meaning}" for m in measures)
        timed = any(measure.is_bound for measure in measures)
        rest = ", and so is one in which no curve ever recovers." if timed else "."
        return f"{stated[0].upper()}{stated[1:]}. {meant}. {DECIDES}{rest}"

    @property
    def agents(self) -> list[str]:
        return sorted({key for part in self.parts for key in part.agents + part.minus})

    def decide(self, panels: Sequence[Panel]) -> list[Decision]:
        """One decision for each part, and for each panel unless the part is across them."""
        missing = [NAMES[k] for k in self.agents if any(k not in p.curves for p in panels)]
        if missing:
            raise Unavailable(f"no curves of {', '.join(missing)}")
        together, apart = [list(panels)], [[panel] for panel in panels]
        groups = [(part, together if part.across else apart) for part in self.parts]
        return [part.decide(group) for part, chosen in groups for group in chosen]


@dataclass(frozen=True)
class Verdict:
    """The outcome of one claim under one reading, with the numbers of its weakest part."""

    id: int
    figure: str
    reading: str
    claim: str
    verdict: Outcome
    statistic: float
    low: float
    high: float
    rule: str
    detail: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; a number that is not finite becomes None."""
        return {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in asdict(self).items()
        }


def _final(panel: Panel, curve: np.ndarray) -> np.ndarray:
    return curve[..., -max(1, round(FINAL_SHARE * curve.shape[-1])) :].mean(axis=-1)


LAST = f"the last {FINAL_SHARE:.0%} of the bins"
FINAL = Measure("final level", f"mean return over {LAST}", _final)
SHORTFALL = Measure(
    "shortfall",
    f"exact ε-greedy optimum minus the mean return over {LAST}",
    lambda panel, curve: panel.optimum - _final(panel, curve),
)
OVERALL = Measure("return", "mean over all episodes", lambda panel, curve: curve.mean(axis=-1))

DECIDES = (
    f"Levels and drops are those of the mean curve over runs. With a {LEVEL:.0%} interval from "
    f"{RESAMPLES:,} bootstrap resamples of the runs, paired by seed: holds if the whole interval "
    "satisfies it, for every part and panel; does not hold if for one of them none of the interval "
    "does; else undecided. A part with a diverged run in its bins is undecided"
)
WORK_RULE = (
    "Counted work of one decision at the corners of a grid of actions and features, look-ahead "
    "against each cached agent: from fewest to most features its count grows at least "
    f"{MUCH_MORE:g} times as much as theirs, from fewest to most actions at least {AS_FAST:g} "
    f"times as much, and at the largest point it is at least {MUCH_MORE:g} times theirs. The "
    "counts are exact, so the interval is the number itself."
)


def _falling(measure: Measure, *agents: str, low: float = 0.0) -> tuple[Part, ...]:
    """That the measure falls from each agent to the next."""
    return tuple(Part(measure, (more,), (less,), low) for more, less in pairwise(agents))


SWITCHES = 3  # of figure 5


def _at_every_switch(
    measure_after: Callable[[int], Measure], more: str, less: str
) -> tuple[Part, ...]:
    """That a measure of one agent exceeds another's at each switch, not only on average.

    An agent that never leaves the first goal has nothing to lose when that one comes back, which
    would make up for its failures in a mean.
    """
    return tuple(Part(measure_after(number), (more,), (less,)) for number in range(1, SWITCHES + 1))


SENTENCES = {
    1: "Q-learning ends up at the return of acting ε-greedily on optimal values.",
    2: "Q-planning with an expectation model ends up short of that return.",
    3: "Q-learning gets as far as Q-planning with the true model.",
    4: "Q-planning with an expectation model ends below the two others.",
    5: "When the goal moves, Q-learning needs longer to recover than either planner.",
    6: "When the goal moves, either planner loses less than Q-learning.",
    7: "Agents recover sooner from the second move of the goal than from the first.",
    8: "The more planning steps, the sooner the recovery.",
    9: "The more planning steps, the smaller the drop.",
    10: f"The first move of the goal takes Q-learning down to about {FALLS_TO:g}.",
    11: "Q-learning falls less far at the third move of the goal than at the first.",
    12: "Q-planning with an expectation model recovers sooner and drops less than Q-learning.",
    13: "Over all episodes, look-ahead earns more than Q-planning with an expectation model.",
    14: "Of the three agents, look-ahead recovers soonest.",
    15: "The agent with cached action values recovers later than look-ahead.",
    16: "The agent with a cached policy drops more than look-ahead.",
    17: "The agent with a cached policy recovers sooner and drops less than Q-learning.",
    18: "A decision costs look-ahead far more than the cached agents, more so as problems grow.",
}
PARTS: dict[int, tuple[str, tuple[Part, ...]]] = {
    1: ("1", (Part(SHORTFALL, (Q,), low=-NEAR_OPTIMUM, high=NEAR_OPTIMUM),)),
    2: ("1", (Part(SHORTFALL, (EXPECTATION,), low=NEAR_OPTIMUM),)),
    3: ("3", _falling(FINAL, Q, TRUE, low=-REACHES)),
    4: ("3", _falling(FINAL, Q, EXPECTATION) + _falling(FINAL, TRUE, EXPECTATION)),
    5: ("4a", _falling(RECOVERY, Q, EXPECTATION) + _falling(RECOVERY, Q, TRUE)),
    6: ("4a", _falling(DROP, Q, EXPECTATION) + _falling(DROP, Q, TRUE)),
    7: ("4a", (Part(SHORTENING, (Q, EXPECTATION, TRUE), across=True),)),
    8: ("4b", _falling(RECOVERY, Q, STEPS_1, STEPS_5, STEPS_20)),
    9: ("4b", _falling(DROP, Q, STEPS_1, STEPS_5, STEPS_20)),
    10: ("5a", (Part(LOWEST, (Q,), low=FALLS_TO - ABOUT, high=FALLS_TO + ABOUT),)),
    11: ("5a", (Part(RISE, (Q,)),)),
    12: ("5a", _falling(RECOVERY, Q, EXPECTATION) + _falling(DROP, Q, EXPECTATION)),
    13: ("5a", _falling(OVERALL, LOOKAHEAD, EXPECTATION)),
    14: (
        "5a",
        _at_every_switch(recovery_after, Q, LOOKAHEAD)
        + _at_every_switch(recovery_after, EXPECTATION, LOOKAHEAD),
    ),
    15: ("5b", _falling(RECOVERY, VALUES, LOOKAHEAD)),
    16: ("5b", _at_every_switch(drop_after, POLICY, LOOKAHEAD)),
    17: (
        "5b",
        _at_every_switch(recovery_after, Q, POLICY) + _at_every_switch(drop_after, Q, POLICY),
    ),
    18: ("discussion", ()),
}
CLAIMS = tuple(Claim(id, PARTS[id][0], SENTENCES[id], PARTS[id][1]) for id in SENTENCES)


def evaluate(panels: Sequence[Panel], latency: Mapping[str, Counts] | None = None) -> list[Verdict]:
    """The verdict on every claim whose figure is there, for each reading it is there under.

    ``latency`` maps a reading to the counted work of one decision: for each agent, (actions,
    features) to a count. Claims come in their order, readings as first met.
    """
    verdicts = []
    for claim in CLAIMS:
        shown: dict[str, Any] = {} if claim.parts else dict(latency or {})
        for panel in panels:
            if claim.parts and panel.figure == claim.figure:
                shown.setdefault(panel.reading, []).append(panel)
        verdicts += [_verdict(claim, reading, data) for reading, data in shown.items()]
    return verdicts


def _verdict(claim: Claim, reading: str, data: Any) -> Verdict:
    try:
        decisions = claim.decide(data) if claim.parts else _work(data)
        detail = "; ".join(decision.described for decision in decisions)
    except Unavailable as reason:
        decisions, detail = [NOTHING], f"not enough data: {reason}"
    weakest = all_of(decisions)
    if claim.parts and (diverged := _diverged(claim, data)):
        detail += f"; diverged: {diverged}"
    about = (claim.id, claim.figure, reading, claim.claim, weakest.outcome)
    return Verdict(*about, *weakest.estimate, claim.rule, f"{detail[0].upper()}{detail[1:]}.")


def _diverged(claim: Claim, panels: Sequence[Panel]) -> str:
    """How many runs of which agents diverged, in words; empty if none did."""
    found = []
    for panel in panels:
        for key in (key for key in claim.agents if key in panel.curves):
            lost = ~np.isfinite(panel.curves[key]).all(axis=1)
            if lost.any():
                place = f" ({panel.panel})" if panel.panel else ""
                name = panel.labels.get(key, key)
                found.append(f"{lost.sum()} of {lost.size} runs of {name}{place}")
    return ", ".join(found)


def _work(counts: Counts) -> list[Decision]:
    """The look-ahead's counts against the others', at the corners of the grid."""
    missing = [NAMES[key] for key in (LOOKAHEAD, VALUES, POLICY) if not counts.get(key)]
    if missing:
        raise Unavailable(f"no counts of {', '.join(missing)}")
    grid = counts[LOOKAHEAD]
    actions, features = (sorted({size[axis] for size in grid}) for axis in (0, 1))
    if len(actions) == 1 or len(features) == 1:
        raise Unavailable("counts for one number of actions or features show no growth")
    corners = [[(a, f) for f in (features[0], features[-1])] for a in (actions[0], actions[-1])]
    decisions = []
    for other in (VALUES, POLICY):
        # rows few and many actions, columns few and many features
        ratios = np.array([[_ratio(grid, counts[other], at) for at in row] for row in corners])
        found = (
            ("growth with the features", ratios[:, 1] / ratios[:, 0], MUCH_MORE),
            ("growth with the actions", ratios[1] / ratios[0], AS_FAST),
            ("work at the largest point", ratios[1, 1], MUCH_MORE),
        )
        label = f"of look-ahead, times that of {NAMES[other]},"
        decisions += [_at_least(least, ratio, f"{what} {label}") for what, ratio, least in found]
    return decisions


def _ratio(above: Mapping[Any, float], below: Mapping[Any, float], size: Any) -> float:
    """NaN where a count is missing or is no count of work."""
    pair = (above.get(size, math.nan), below.get(size, math.nan))
    return pair[0] / pair[1] if min(pair) > 0.0 and math.isfinite(sum(pair)) else math.nan


def _at_least(least: float, ratios: np.ndarray, label: str) -> Decision:
    ratio = float(np.min(ratios))
    if math.isnan(ratio):
        return NOTHING._replace(label=label)
    outcome = HOLDS if ratio >= least else FAILS
    return Decision(outcome, Estimate(ratio, ratio, ratio), ratio / least, label)
