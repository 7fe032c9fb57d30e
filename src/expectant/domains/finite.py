"""Finite Markov decision processes, given by arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from expectant.core import verbs
from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext, Domain
from expectant.core.memory import claim
from expectant.core.rules import Rule, flag, list_of, or_none, whole
from expectant.core.verbs import function
from expectant.domains.external import GymSource
from expectant.domains.gym import Gym

END = -1  # the successor that ends an episode
TOLERANCE = 1e-9
STATE, PHASE, OUTCOME = 0, 1, 2  # entries of the array ``now`` of a part


class Outcomes(NamedTuple):
    """Canonical arrays of an MDP with P phases, S states, A actions and O outcomes.

    ``probabilities`` and ``rewards`` are (P, S, A, O), ``successors`` (S, A, O) with −1 for the
    end, ``start`` (S,).
    """

    probabilities: np.ndarray
    rewards: np.ndarray
    successors: np.ndarray
    start: np.ndarray


def canonical_outcomes(mdp: FiniteMDP) -> Outcomes:
    """Validate the arrays of an MDP, bring them to one form and drop unused outcomes."""
    probabilities = np.asarray(mdp.probabilities)
    if probabilities.ndim not in (3, 4):
        raise _error(
            "probabilities must have the shape (states, actions, outcomes), or one axis more "
            f"for phases in front, got {probabilities.shape}"
        )
    probabilities = probabilities.reshape(-1, *probabilities.shape[-3:])
    successors = _successors(mdp, probabilities.shape[1:])
    rewards = _rewards(np.asarray(mdp.rewards), probabilities.shape)
    phases, terminal = max(len(probabilities), len(rewards)), list(mdp.terminal)
    if (phases > 1) != (mdp.switch_every is not None):
        raise _error(
            f"switch_every, the episodes of a phase, is for several phases, got "
            f"{mdp.switch_every} with {phases}"
        )
    claim(8 * (3 * phases + 2) * probabilities[0].size)  # the copies below
    probabilities = np.broadcast_to(probabilities, (phases, *probabilities.shape[1:])).copy()
    rewards = np.broadcast_to(rewards, probabilities.shape).copy()
    if terminal and max(terminal) >= len(successors):
        raise _error(f"terminal state {max(terminal)} must be below {len(successors)}")
    successors = np.where(np.isin(successors, terminal), END, successors)
    probabilities[:, terminal], rewards[:, terminal], successors[terminal] = 0.0, 0.0, END
    probabilities[:, terminal, :, 0] = 1.0
    _check_entries(~(probabilities >= 0), probabilities, "a probability must be 0 or more")
    sums = probabilities.sum(axis=-1)
    _check_entries(~(np.abs(sums - 1.0) <= TOLERANCE), sums, "the probabilities must sum to 1")
    infinite = (probabilities > 0) & ~np.isfinite(rewards)
    _check_entries(infinite, rewards, "a reward must be finite")
    start = _start(mdp, len(successors))
    possible = (probabilities > 0).any(axis=0)
    used = np.argsort(~possible, axis=-1, kind="stable")[..., : int(possible.sum(axis=-1).max())]
    probabilities = np.take_along_axis(probabilities, used[None], axis=-1)
    rewards = np.take_along_axis(rewards, used[None], axis=-1)
    successors = np.take_along_axis(successors, used, axis=-1)
    if not mdp.endless:
        _check_ends(probabilities, successors)
    return Outcomes(probabilities, rewards, successors.astype(np.int64), start)


def _error(message: str) -> ValueError:
    return ValueError(f"FiniteMDP: {message}")


def _successors(mdp: FiniteMDP, shape: tuple[int, ...]) -> np.ndarray:
    states, _, outcomes = shape
    if mdp.successors is None:
        if outcomes not in (states, states + 1):
            raise _error(
                f"probabilities have {outcomes} outcomes for {states} states: give successors, or "
                f"one outcome per state ({states}), or one more for the end ({states + 1})"
            )
        return np.broadcast_to([*range(states), END][:outcomes], shape).copy()
    successors = np.asarray(mdp.successors)
    if successors.shape != shape:
        raise _error(f"successors must have the shape {shape}, got {successors.shape}")
    invalid = (successors < END) | (successors >= states)
    rule = f"a successor must be −1 (the end) or a state from 0 to {states - 1}"
    _check_entries(invalid[None], successors[None], rule)
    return successors.copy()


def _rewards(rewards: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return rewards as (P or 1, S, A, O or 1)."""
    phases, states, actions, outcomes = shape
    if rewards.shape == (states, actions):
        return rewards[None, :, :, None]
    if rewards.shape == (states, actions, outcomes):
        return rewards[None]
    if rewards.shape[1:] == shape[1:] and (phases == 1 or len(rewards) in (1, phases)):
        return rewards
    raise _error(
        f"rewards must have the shape {(states, actions)}, {(states, actions, outcomes)} or "
        f"(phases, {states}, {actions}, {outcomes}), got {rewards.shape}"
    )


def _check_entries(invalid: np.ndarray, values: np.ndarray, rule: str) -> None:
    """Raise an error that names the first invalid entry of (P, S, A) or (P, S, A, O)."""
    if invalid.any():
        first = tuple(np.argwhere(invalid)[0])
        phase, state, action, *outcome = first
        where = f"state {state}, action {action}" + (f", outcome {outcome[0]}" if outcome else "")
        raise _error(f"{where}, phase {phase}: {rule}, got {values[first]:.10g}")


def _start(mdp: FiniteMDP, states: int) -> np.ndarray:
    if mdp.start is None:
        start = np.ones(states)
        start[list(mdp.terminal)] = 0.0
        if not start.any():
            raise _error("every state is terminal, there is nowhere to start")
        return start / start.sum()
    start = np.asarray(mdp.start)
    if start.shape != (states,):
        raise _error(f"start must have the shape {(states,)}, got {start.shape}")
    if not ((start >= 0).all() and abs(start.sum() - 1.0) <= TOLERANCE):
        raise _error(f"start must be probabilities that sum to 1, got {start}")
    if start[list(mdp.terminal)].any():
        raise _error(f"start must not be in a terminal state, got {start}")
    return start.copy()


def _check_ends(probabilities: np.ndarray, successors: np.ndarray) -> None:
    """Raise an error if some state cannot reach the end in some phase."""
    for number, possible in enumerate(probabilities > 0):
        trapped = np.flatnonzero(~reaches_end(possible, successors))
        if trapped.size:
            entries = np.argwhere(possible & (successors == trapped[0]))
            state, action, _ = (*entries, (trapped[0], 0, 0))[0]
            raise _error(
                f"state {state}, action {action}, phase {number}: leads to state {trapped[0]}, "
                "which never reaches an end (say terminal= or endless=True if that is meant)"
            )


def reaches_end(possible: np.ndarray, successors: np.ndarray) -> np.ndarray:
    """Return True (S,) for states that can reach the end by ``possible`` (S, A, O) outcomes."""
    states = successors.shape[0]
    origins, targets = np.nonzero(possible)[0], successors[possible]
    by_target = np.argsort(targets, kind="stable")
    predecessors = origins[by_target].tolist()
    firsts = np.searchsorted(targets[by_target], np.arange(-1, states + 1)).tolist()
    reaches, queue = [False] * states, [-1]
    while queue:
        state = queue.pop()
        for origin in predecessors[firsts[state + 1] : firsts[state + 2]]:
            if not reaches[origin]:
                reaches[origin] = True
                queue.append(origin)
    return np.array(reaches)


class FinitePart(NamedTuple):
    """A finite MDP: ``now`` (3,) is the current state, the phase and the latest outcome.

    ``cumulative`` and ``rewards`` are (P, S, A, O), ``successors`` (S, A, O), ``start`` (S,)
    cumulative.
    """

    cumulative: np.ndarray
    successors: np.ndarray
    rewards: np.ndarray
    start: np.ndarray
    switch_every: int
    now: np.ndarray


@function
def sample(cumulative, uniform):
    """Index of the first entry of a cumulative distribution that exceeds ``uniform``."""
    low, high = 0, cumulative.shape[0] - 1
    while low < high:
        middle = (low + high) // 2
        if uniform < cumulative[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@verbs.reset.register(FinitePart)
def _(domain, episode, rng):
    phases = domain.cumulative.shape[0]
    domain.now[PHASE] = (episode // domain.switch_every) % phases
    domain.now[STATE] = sample(domain.start, rng.random())


@verbs.step.register(FinitePart)
def _(domain, action, rng):
    now, successors = domain.now, domain.successors
    state, phase = now[STATE], now[PHASE]
    chosen = sample(domain.cumulative[phase, state, action], rng.random())
    reward = domain.rewards[phase, state, action, chosen]
    now[OUTCOME] = (state * successors.shape[1] + action) * successors.shape[2] + chosen
    successor = successors[state, action, chosen]
    if successor == END:
        return reward, 0.0
    now[STATE] = successor
    return reward, 1.0


def register_now(part_type: type) -> None:
    """Register the verbs that read the array ``now`` of a part: observation, state, phase, outcome.

    Every domain with an ``mdp()`` builds a part with such an array.
    """

    @verbs.observation.register(part_type)
    def _(domain):
        return domain.now

    @verbs.state_index.register(part_type)
    def _(domain):
        return domain.now[STATE]

    @verbs.phase.register(part_type)
    def _(domain):
        return domain.now[PHASE]

    @verbs.outcome.register(part_type)
    def _(domain):
        return domain.now[OUTCOME]


register_now(FinitePart)


@verbs.reward_now.register(FinitePart)
def _(domain, outcome):
    outcomes = domain.successors.shape[2]
    state_action = outcome // outcomes
    actions = domain.successors.shape[1]
    return domain.rewards[
        domain.now[PHASE], state_action // actions, state_action % actions, outcome % outcomes
    ]


def _array_rule(dtype: type, kinds: str, words: str) -> Rule[np.ndarray]:
    def convert(value: object) -> np.ndarray:
        array = np.asarray(value)
        claim(8 * array.size)
        if array.size == 0 or array.dtype.kind not in kinds:
            raise ValueError
        array = array.astype(dtype)
        array.setflags(write=False)
        return array

    return Rule(words, convert)


_NUMBERS = _array_rule(np.float64, "fiu", "an array of numbers")
_WHOLES = _array_rule(np.int64, "iu", "an array of whole numbers")
GymTable = Mapping[int, Mapping[int, list[tuple[float, int, float, bool]]]]


class FiniteMDP(Domain):
    """Any finite MDP, given by arrays.

    Dynamics
        ``probabilities`` is (S, A, O), or (P, S, A, O) for P phases. Outcome o of action a in
        state s leads to ``successors[s, a, o]``, −1 being the end of the episode. Without
        ``successors`` the outcomes are the states: O = S, or O = S + 1 with the end last.
    Reward
        ``rewards`` is (S, A), (S, A, O) or (P, S, A, O).
    Start
        drawn from ``start`` (S,); by default uniform over the non-terminal states.
    End
        at successor −1 or on entering a ``terminal`` state. It must be reachable from every state
        unless the problem is ``endless``.
    Phases
        the next phase begins every ``switch_every`` episodes; the first follows the last.
    """

    probabilities: ArrayLike = parameter(_NUMBERS)
    rewards: ArrayLike = parameter(_NUMBERS)
    successors: ArrayLike | None = parameter(or_none(_WHOLES), default=None)
    start: ArrayLike | None = parameter(or_none(_NUMBERS), default=None)
    terminal: Sequence[int] = parameter(list_of(whole(0), "a list of states"), default=())
    switch_every: int | None = parameter(or_none(whole(1)), default=None)
    endless: bool = parameter(flag(), default=False)

    def validate(self) -> None:
        self.outcomes  # noqa: B018  validates the arrays

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FiniteMDP) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        arrays = (self.probabilities, self.rewards)
        return hash((*(np.asarray(array).tobytes() for array in arrays), self.switch_every))

    def __repr__(self) -> str:
        phases, states, actions, outcomes = self.outcomes.probabilities.shape
        switch = f", switch_every={self.switch_every}" if phases > 1 else ""
        return (
            f"FiniteMDP({states} states, {actions} actions, up to {outcomes} outcomes, "
            f"{phases} phase{'s' * (phases > 1)}{switch})"
        )

    @property
    def states(self) -> int:
        return self.outcomes.successors.shape[0]

    @property
    def actions(self) -> int:
        return self.outcomes.successors.shape[1]

    @property
    def phases(self) -> int:
        return self.outcomes.probabilities.shape[0]

    @classmethod
    def from_gym(
        cls, source: GymSource | GymTable, *, start: ArrayLike | None = None, **options: object
    ) -> FiniteMDP:
        """Make the MDP of a Gymnasium toy-text environment, or of its transition table ``P``.

        ``start`` (S,) defaults to the environment's; ``options`` go to ``gymnasium.make``.
        """
        if not isinstance(source, Mapping):
            env: Any = Gym(source, **dict[str, Any](options)).make()
            toy = env.unwrapped
            if not hasattr(toy, "P"):
                raise ValueError(
                    f"FiniteMDP.from_gym: {source!r} has no table P of its transitions; only "
                    "toy-text environments do"
                )
            start = getattr(toy, "initial_state_distrib", None) if start is None else start
            source = cast(GymTable, toy.P)
            toy.close()
        rows = [source[s][a] for s in range(len(source)) for a in range(len(source[0]))]
        table = np.zeros((3, len(rows), max(map(len, rows))))
        table[1] = END
        for row, outcomes in enumerate(rows):
            for o, (probability, successor, reward, ended) in enumerate(outcomes):
                table[:, row, o] = probability, END if ended else successor, reward
        shape = len(source), len(source[0]), -1
        probabilities, successors, rewards = (array.reshape(shape) for array in table)
        return cls(probabilities, rewards, successors.astype(np.int64), start)

    def mdp(self) -> FiniteMDP:
        return self

    @cached_property
    def outcomes(self) -> Outcomes:
        """The validated arrays in canonical form."""
        return canonical_outcomes(self)

    @cached_property
    def _part(self) -> FinitePart:
        table = self.outcomes
        return FinitePart(
            _cumulative(table.probabilities),
            table.successors.copy(),
            table.rewards.copy(),
            _cumulative(table.start),
            int(self.switch_every or 1),
            np.zeros(3, np.int64),
        )

    def build(self, rng: np.random.Generator) -> FinitePart:
        return self._part._replace(now=np.zeros(3, np.int64))  # runs share the constant arrays


def _cumulative(probabilities: np.ndarray) -> np.ndarray:
    total = np.cumsum(probabilities, axis=-1)
    return total / total[..., -1:]


def phase_array(context: BuildContext) -> np.ndarray:
    """The array ``now`` of a domain with an ``mdp()``, for models of the current phase."""
    part: Any = context.domain_part
    return part.now


def require_mdp(context: BuildContext, owner: str) -> FiniteMDP:
    """Return the MDP of the context's domain; raise ValueError if it has none."""
    mdp = context.domain.mdp()
    if mdp is None:
        raise ValueError(
            f"{owner}: needs a domain that is a finite MDP, {type(context.domain).__name__} is not"
        )
    return mdp


class TabularDomain(Domain, abstract=True):
    """A domain that is a finite MDP; subclasses define ``table``."""

    def table(self) -> FiniteMDP:
        """Make the finite MDP."""
        raise NotImplementedError

    @property
    def states(self) -> int:
        return self.mdp().states

    @property
    def actions(self) -> int:
        return self.mdp().actions

    @property
    def endless(self) -> bool:
        return self.mdp().endless

    def mdp(self) -> FiniteMDP:
        """The domain as a finite MDP, for exact solutions and exact models."""
        return self._mdp

    @cached_property
    def _mdp(self) -> FiniteMDP:
        return self.table()

    def build(self, rng: np.random.Generator) -> object:
        return self.mdp().build(rng)
