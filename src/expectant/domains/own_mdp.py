"""Whether a domain's steps are as frequent as its finite MDP says."""

from __future__ import annotations

from collections import Counter

from expectant.domains.finite import FiniteMDP
from expectant.domains.outcomes import Outcomes
from expectant.parts import Domain

ENOUGH = 30  # steps from one state by one action, to compare frequencies
DEVIATIONS = 6.0  # standard deviations that are still taken for chance

Origin = tuple[int, int, int]  # phase, state, action
Tally = dict[Origin, Counter[tuple[int, float]]]  # how often each successor and reward followed


def count(tally: Tally, origin: Origin, result: tuple[int, float]) -> None:
    """Note what followed a state and action."""
    tally.setdefault(origin, Counter())[result] += 1


def check_against_mdp(domain: Domain, mdp: FiniteMDP, tally: Tally, owner: str) -> int:
    """Compare all counts with the MDP's probabilities; returns how many pairs were compared."""
    table, compared = mdp.outcomes, 0
    phases, states = table.probabilities.shape[:2]
    if states != domain.states:
        raise ValueError(f"{owner}: states is {domain.states}, but its mdp() has {states}")
    for (phase, state, action), found in tally.items():
        if not (0 <= phase < phases and 0 <= state < states):
            raise ValueError(
                f"{owner}: was in phase {phase}, state {state}, which its mdp() does not have: "
                "implement the verbs place and phase"
            )
        expected = _expected(table, phase, state, action)
        where = f"{owner}: state {state}, action {action}, phase {phase}"
        _check_possible(found, expected, where)
        if found.total() >= ENOUGH:
            compared += 1
            _check_frequencies(found, expected, where)
    return compared


def _expected(
    table: Outcomes, phase: int, state: int, action: int
) -> dict[tuple[int, float], float]:
    """The probability of every successor and reward."""
    result: dict[tuple[int, float], float] = {}
    for o in range(table.successors.shape[2]):
        probability = float(table.probabilities[phase, state, action, o])
        if probability > 0.0:
            key = (
                int(table.successors[state, action, o]),
                float(table.rewards[phase, state, action, o]),
            )
            result[key] = result.get(key, 0.0) + probability
    return result


def _said(result: tuple[int, float]) -> str:
    successor, reward = result
    return f"{'the end' if successor < 0 else f'state {successor}'} with reward {reward:g}"


def _check_possible(
    found: Counter[tuple[int, float]], expected: dict[tuple[int, float], float], where: str
) -> None:
    for result in found:
        if result not in expected:
            raise ValueError(f"{where}: led to {_said(result)}, which its mdp() rules out")


def _check_frequencies(
    found: Counter[tuple[int, float]], expected: dict[tuple[int, float], float], where: str
) -> None:
    total = found.total()
    for result, probability in expected.items():
        deviation = (total * probability * (1.0 - probability)) ** 0.5
        if abs(found[result] - total * probability) > DEVIATIONS * deviation + 1.0:
            raise ValueError(
                f"{where}: led to {_said(result)} in {found[result]} of {total} steps, where its "
                f"mdp() has a probability of {probability:g}"
            )
