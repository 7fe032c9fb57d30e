"""Probes: numbers computed from an agent's knowledge, by name in the ``record`` of a config file.

A probe asks an agent about all states of its domain. Those of the package are computed exactly, so
that there is no noise in them. Where states have no numbers, a probe can run episodes instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, wraps
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from expectant.agents.wrappers import unwrapped_agent
from expectant.core.interfaces import Agent, Domain
from expectant.exact import dynamic_programming as dp
from expectant.exact.loca_mountain_car import reference_levels
from expectant.experiments.toml_tables import check_known

RETURNS = "returns"  # the topic of probes that run greedy episodes
MAX_STEPS, NEGLIGIBLE = 10_000, 1e-6  # follow a policy until the remaining probability is below


class Seen(NamedTuple):
    """Answers of an agent at M moments, one row each; NaN after a divergence.

    ``values`` (M, S), ``preferences`` (M, S, A), ``work`` (M,): backups drawn so far, ``returns``
    (M, E) of greedy episodes; ``phases`` (M,). Topics that a probe does not ask for are empty.
    """

    values: np.ndarray = np.zeros((0, 0))
    preferences: np.ndarray = np.zeros((0, 0, 0))
    phases: np.ndarray = np.zeros(0, int)
    work: np.ndarray = np.zeros(0)
    returns: np.ndarray = np.zeros((0, 0))


Of = Callable[..., np.ndarray]


@dataclass(frozen=True)
class Probe:
    """A function ``of`` a domain, an agent's config and :class:`Seen` answers, to (M,).

    ``topics``: the answers it asks for. Its further arguments are whole numbers that a record may
    set. ``levels``: reference lines in a phase of the run. ``expected``: the expected curve (M,) at
    moments (M,), if it is known. ``of_errors``: less is better.
    """

    name: str
    title: str
    topics: tuple[str, ...]
    of: Of
    levels: Callable[..., dict[str, float]] = lambda domain, agent, phase, **options: {}
    expected: Callable[[Domain, np.ndarray], np.ndarray | None] = lambda domain, at: None
    of_errors: bool = False

    @property
    def options(self) -> dict[str, object]:
        """The arguments that a record may set, with their defaults."""
        arguments = signature(self.of).parameters.values()
        return {one.name: one.default for one in arguments if one.default is not one.empty}


PROBES: dict[str, Probe] = {}


def register_probe(
    name: str, title: str = "", *, topics: tuple[str, ...] = ("values",), **more: Any
) -> Callable[[Of], Of]:
    """Register a function of a domain, an agent and its answers, to (M,), as a probe.

    ``title`` is its name in figures. ``more`` are the other fields of a :class:`Probe`.
    """

    def register(of: Of) -> Of:
        if name in PROBES:
            raise ValueError(f"probe: the name {name!r} is taken")
        PROBES[name] = Probe(name, title or name, topics, of, **more)
        return of

    return register


def find_probe(name: object) -> Probe:
    """Return a probe by its name."""
    check_known("unknown", [name], sorted(PROBES), "probe")
    return PROBES[str(name)]


def mdp_phase(domain: Domain, phase: int) -> int:
    """Return the phase of the MDP for a phase of a run; after the last comes the first."""
    mdp = domain.mdp()
    if mdp is None:
        raise ValueError(f"probe: domain must be a finite MDP, got {domain!r}")
    return phase % mdp.phases


def by_phase(topic: str) -> Callable[[Of], Of]:
    """Make a probe of a function of the finite answers (m, ...) on a topic in one phase.

    Its arguments are domain, agent, answers and phase. Moments with other answers are NaN.
    """

    def decorate(of: Of) -> Of:
        @wraps(of)
        def compute(domain: Domain, agent: Agent, seen: Seen, **options: Any) -> np.ndarray:
            answers = getattr(seen, topic)
            finite = np.isfinite(answers).reshape(len(answers), -1).all(axis=1)
            result = np.full(finite.size, np.nan)
            for phase in np.unique(seen.phases[finite]):
                rows = finite & (seen.phases == phase)
                result[rows] = of(domain, agent, answers[rows], int(phase), **options)
            return result

        return compute

    return decorate


# ------------------------------------------------------------------------------------------- values


@register_probe("value_error", "error of the state values", of_errors=True)
@by_phase("values")
def value_error(domain: Domain, agent: Agent, values: np.ndarray, phase: int) -> np.ndarray:
    """Root of the mean over states of (v̂(s) − v*(s))², v* that of the present phase."""
    now = mdp_phase(domain, phase)
    exact = dp.optimal_values(domain, discount=agent.discount, phase=now)
    return np.sqrt(((values - exact) ** 2).mean(axis=1))


@register_probe(
    "squared_error",
    "squared error of the values",
    expected=lambda domain, at: domain.sampling_error(at),
    of_errors=True,
)
def squared_error(domain: Domain, agent: Agent, seen: Seen) -> np.ndarray:
    """Mean over states of (v̂(s) − v*(s))², v* that of the present phase."""
    return np.asarray(value_error(domain, agent, seen) ** 2)


@register_probe("known_error", "error of the state values", of_errors=True)
def known_error(domain: Domain, agent: Agent, seen: Seen) -> np.ndarray:
    """Root mean squared difference from the known values of some states."""
    known = domain.reference_values(agent.discount)
    if known is None:
        raise ValueError(
            f"record: known_error needs a domain that knows values of some states, such as "
            f"DrivenCar, got {domain!r}"
        )
    return np.asarray(np.sqrt(((seen.values - known.values) ** 2).mean(axis=1)))


def start_levels(domain: Domain, agent: Agent, phase: int) -> dict[str, float]:
    """Return the optimum in a phase."""
    now = mdp_phase(domain, phase)
    best = dp.optimal_values(domain, discount=agent.discount, phase=now)
    return {"optimum": float(dp.get_dynamics(domain, now).start @ best)}


@register_probe("start_value", "value of the start", levels=start_levels)
@by_phase("values")
def start_value(domain: Domain, agent: Agent, values: np.ndarray, phase: int) -> np.ndarray:
    """Mean of the state values over the starts of episodes."""
    return np.asarray(values @ dp.get_dynamics(domain, mdp_phase(domain, phase)).start)


@register_probe("value_change", "squared change of the values", of_errors=True)
def value_change(domain: Domain, agent: Agent, seen: Seen) -> np.ndarray:
    """Mean over states of the squared change of v̂(s) since the previous probe."""
    moved = np.diff(seen.values, axis=0, prepend=seen.values[:1])
    return np.asarray((moved**2).mean(axis=1))


# -------------------------------------------------------------------------------------- preferences

PREFERENCES = ("preferences",)


@lru_cache  # called by every run of a trial
def best_actions(domain: Domain, discount: float, phase: int) -> np.ndarray:
    """Return the optimal actions (S, A)."""
    values = dp.optimal_action_values(domain, discount=discount, phase=phase)
    most = values.max(axis=1, keepdims=True)
    return values >= most - dp.TIE * np.abs(most)


@register_probe("outdated_actions", "outdated greedy actions", topics=PREFERENCES, of_errors=True)
@by_phase("preferences")
def outdated_actions(domain: Domain, agent: Agent, table: np.ndarray, phase: int) -> np.ndarray:
    """Share of states whose greedy action was optimal before the last change and is not now.

    Ties count by halves; in the first phase there are none.
    """
    before, now = (
        best_actions(domain, agent.discount, mdp_phase(domain, number))
        for number in (max(phase - 1, 0), phase)
    )
    return np.asarray((dp.greedy_policy(table) * (before & ~now)).sum(axis=2).mean(axis=1))


@register_probe("largest_probability", "largest action probability", topics=PREFERENCES)
def largest_probability(domain: Domain, agent: Agent, seen: Seen) -> np.ndarray:
    """Largest probability of the softmax policy, mean over states, without ε."""
    if not hasattr(unwrapped_agent(agent), "policy_step"):
        raise ValueError(
            f"record: largest_probability is of agents that keep a policy, such as CachedPolicy, "
            f"got {type(agent).__name__}"
        )
    raised = seen.preferences - seen.preferences.max(axis=-1, keepdims=True)
    return np.asarray((1.0 / np.exp(raised).sum(axis=-1)).mean(axis=-1))


@register_probe(
    "largest_value", "largest action value, without its sign", topics=PREFERENCES, of_errors=True
)
def largest_value(domain: Domain, agent: Agent, seen: Seen) -> np.ndarray:
    """Largest of all |q̂(s, a)|, or of other preferences."""
    return np.asarray(np.abs(seen.preferences).max(axis=(1, 2)))


@register_probe("decided_states", "states with a preferred action", topics=PREFERENCES)
def decided_states(domain: Domain, agent: Agent, seen: Seen) -> np.ndarray:
    """Number of states in which one action is preferred to all others."""
    ranked = np.sort(seen.preferences, axis=-1)
    decided = (ranked[..., -1] > ranked[..., -2] + dp.TIE).sum(axis=-1).astype(float)
    return np.where(np.isfinite(seen.preferences).all(axis=(1, 2)), decided, np.nan)


def is_optimal(domain: Domain, preferences: np.ndarray, discount: float, phase: int) -> bool:
    """True if a greedy policy takes only optimal actions in all states that it reaches."""
    now = mdp_phase(domain, phase)
    world, best = dp.get_dynamics(domain, now), best_actions(domain, discount, now)
    most = preferences.max(axis=1, keepdims=True)
    greedy = preferences >= most - dp.TIE * np.abs(most)
    reached = np.zeros(best.shape[0], bool)
    following = np.flatnonzero(world.start)
    while following.size:
        if (greedy[following] & ~best[following]).any():
            return False
        reached[following] = True
        taken = greedy[following][..., None] & (world.probabilities[following] > 0.0)
        successors = np.unique(world.successors[following][taken])
        following = successors[(successors >= 0) & ~reached[successors]]
    return True


@register_probe(
    "solving_updates",
    "log₁₀ of updates until solved",
    topics=("preferences", "work"),
    of_errors=True,
)
def solving_updates(domain: Domain, agent: Agent, seen: Seen) -> np.ndarray:
    """log₁₀ of the backups drawn until the greedy policy is optimal."""
    if getattr(unwrapped_agent(agent), "planning_steps", 0) > 0 and not seen.work.any():
        raise ValueError(
            f"record: solving_updates counts backups of pairs (SeenPairs, PrioritizedPairs), "
            f"and {type(agent).__name__} has counted none"
        )
    counted = np.maximum(seen.work, 1.0)
    for row in range(counted.size):
        if is_optimal(domain, seen.preferences[row], agent.discount, int(seen.phases[row])):
            counted[row:] = counted[row]
            break
    return np.log10(counted)


def policy_returns(world: dp.Dynamics, policies: np.ndarray, discount: float) -> np.ndarray:
    """Return expected discounted returns (M,) of policies (M, S, A) from the start.

    State probabilities are carried forward for all policies at once, as one sparse system.
    """
    from scipy import sparse

    count, states, _ = policies.shape
    rewards = (policies * world.rewards).sum(axis=2)
    chances = policies[..., None] * world.probabilities * (world.successors >= 0)
    policy, state, action, o = np.nonzero(chances)
    target = policy * states + world.successors[state, action, o]
    entries = (discount * chances[policy, state, action, o], (target, policy * states + state))
    onward = sparse.csr_matrix(entries, shape=(count * states, count * states))
    present = np.tile(world.start, count)
    visits = present.copy()
    for step in range(MAX_STEPS):
        present = onward @ present
        visits += present
        if step % 10 == 0 and present.reshape(count, states).sum(axis=1).max() < NEGLIGIBLE:
            break
    return (visits.reshape(count, states) * rewards).sum(axis=1)


@register_probe("start_return", "greedy return from the start", topics=PREFERENCES)
@by_phase("preferences")
def start_return(domain: Domain, agent: Agent, table: np.ndarray, phase: int) -> np.ndarray:
    """Expected discounted return of the greedy policy from the start."""
    world = dp.get_dynamics(domain, mdp_phase(domain, phase))
    return policy_returns(world, dp.greedy_policy(table), agent.discount)


def returns_within(
    domain: Domain, policies: np.ndarray, phase: int, discount: float, horizon: int
) -> np.ndarray:
    """Return expected discounted returns (M,) of policies (M, S, A) within ``horizon`` steps.

    Mean over all states as starts, under the rewards of one phase, by backward induction.
    """
    world = dp.get_dynamics(domain, phase)
    chosen = policies.transpose(1, 2, 0)  # (S, A, M)
    values = np.zeros((policies.shape[1], policies.shape[0]))
    for _ in range(horizon):
        targets = world.rewards[:, :, None] + discount * dp.expected_next(world, values)
        values = (chosen * targets).sum(axis=1)
    return values.mean(axis=0)


def greedy_levels(domain: Domain, agent: Agent, phase: int, horizon: int) -> dict[str, float]:
    """Return the optimum in a phase, and the return there of the first phase's policy."""
    now, discount = mdp_phase(domain, phase), agent.discount
    best, outdated = (dp.optimal_policy(domain, discount=discount, phase=n) for n in (now, 0))
    policies = {"optimum": best}
    if not np.array_equal(best, outdated):
        policies["outdated policy"] = outdated
    return {
        name: float(returns_within(domain, policy[None], now, discount, horizon)[0])
        for name, policy in policies.items()
    }


GREEDY_RETURN = "expected return of the greedy policy"


@register_probe("greedy_return", GREEDY_RETURN, topics=PREFERENCES, levels=greedy_levels)
@by_phase("preferences")
def greedy_return(
    domain: Domain, agent: Agent, table: np.ndarray, phase: int, horizon: int = 40
) -> np.ndarray:
    """Expected return of the greedy policy within ``horizon`` steps, mean over all starts."""
    now = mdp_phase(domain, phase)
    return returns_within(domain, dp.greedy_policy(table), now, agent.discount, horizon)


@register_probe(
    "episode_return",
    "return of greedy episodes",
    topics=(RETURNS,),
    levels=lambda domain, agent, phase, episodes: reference_levels(domain, 2)[min(phase, 1)],
)
def episode_return(domain: Domain, agent: Agent, seen: Seen, episodes: int = 20) -> np.ndarray:
    """Mean discounted return of greedy episodes without learning, with the same starts."""
    return np.asarray(seen.returns.mean(axis=1))
