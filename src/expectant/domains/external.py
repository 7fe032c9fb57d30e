"""Environments stepped outside compiled code: observation specs, and the domain of a Learner."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import Domain
from expectant.core.rules import Rule, list_of, or_none, whole
from expectant.core.verbs import observation


class GymEnvironment(Protocol):
    """The part of ``gymnasium.Env`` that is used."""

    @property
    def action_space(self) -> object: ...
    @property
    def observation_space(self) -> object: ...
    def reset(self, *, seed: int | None = None) -> tuple[object, dict[str, object]]: ...
    def step(self, action: int, /) -> tuple[object, object, bool, bool, dict[str, object]]: ...
    def close(self) -> None: ...


GymSource = str | GymEnvironment | Callable[..., GymEnvironment]  # id, environment or factory

MOST_STATES = 1_000_000  # larger product spaces are observed as vectors by default


class ObservationSpec(NamedTuple):
    """Format of observations: state indices, or vectors.

    ``states`` is the number of states if they are numbered: all combinations of whole numbers, of
    which component i takes ``counts[i]`` values from ``starts[i]`` on. Otherwise ``bounds`` has
    (low, high) of every component of a vector, if known.
    """

    states: int | None = None
    bounds: tuple[tuple[float, float], ...] | None = None
    counts: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()

    def convert(self, observation: object, into: np.ndarray) -> None:
        """Write an observation into an array as a state index or a vector.

        Raises an error for invalid ones: compiled code does not check the range again.
        """
        if self.states is None:
            try:
                vector = np.ravel(np.asarray(observation, float))
            except OverflowError as error:  # an integer too large for a float
                raise TypeError(f"observation: {error}") from None
            self._check_size(vector.size, into.size, observation)
            into[:] = vector
            return
        values = (observation,) if len(self.counts) == 1 else np.ravel(np.asarray(observation))
        self._check_size(len(values), len(self.counts), observation)
        index = 0
        for value, count, start in zip(values, self.counts, self.starts, strict=True):
            digit = operator.index(value) - start
            if not 0 <= digit < count:
                raise ValueError(
                    f"observation: must be a whole number from {start} to {start + count - 1}, "
                    f"got {observation!r}"
                )
            index = index * count + digit
        into[0] = index

    def _check_size(self, size: int, expected: int, observation: object) -> None:
        if size != expected:
            raise ValueError(f"observation: must have {expected} components, got {observation!r}")

    def buffer(self) -> np.ndarray:
        """An array for one observation."""
        return np.zeros(len(self.bounds or ())) if self.states is None else np.zeros(1, np.int64)


def numbered_states(states: int) -> ObservationSpec:
    """The spec of observations that are state indices."""
    return ObservationSpec(states, None, (states,), (0,))


def check_single_env(environment: object, owner: str) -> None:
    """Refuse vector environments."""
    if hasattr(environment, "single_action_space"):
        raise ValueError(
            f"{owner}: {environment!r} is several environments at once (gymnasium.vector): give "
            "one of them"
        )


def action_count(space: object, owner: str) -> int:
    """Return the number of actions of a ``Discrete`` space; raise ValueError for others."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return int(space.n)
    raise ValueError(
        f"{owner}: agents choose among numbered actions (Discrete), its action space is {space}: "
        "wrap it so that each number stands for one fixed action (gymnasium.wrappers."
        "TransformAction)"
    )


def observation_spec(space: Any, numbered: bool | None, owner: str) -> ObservationSpec:
    """The spec of a Gymnasium space.

    ``numbered`` decides if whole numbers are state indices or a vector; None: state indices, up to
    ``MOST_STATES`` of them.
    """
    from gymnasium import spaces

    if isinstance(space, spaces.Box):
        if numbered:
            raise ValueError(f"{owner}: numbered=True, but its observations are vectors: {space}")
        pairs = zip(space.low.ravel().tolist(), space.high.ravel().tolist(), strict=True)
        return ObservationSpec(bounds=tuple(pairs))
    parts: Any = space.spaces if isinstance(space, spaces.Tuple) else (space,)
    if all(isinstance(part, spaces.Discrete) for part in parts):
        counts = tuple(int(part.n) for part in parts)
        starts = tuple(int(part.start) for part in parts)
    elif isinstance(space, spaces.MultiDiscrete):
        counts, starts = tuple(space.nvec.ravel().tolist()), tuple(np.ravel(space.start).tolist())
    elif isinstance(space, spaces.MultiBinary):
        counts = (2,) * math.prod(space.shape)
        starts = (0,) * len(counts)
    else:
        raise ValueError(
            f"{owner}: observations of {type(space).__name__} are not numbers or vectors "
            "(Discrete, MultiDiscrete, MultiBinary, Tuple of Discrete, or Box); "
            "gymnasium.wrappers.FlattenObservation makes one vector of them"
        )
    states = math.prod(counts)
    if numbered or (numbered is None and states <= MOST_STATES):
        return ObservationSpec(states, None, counts, starts)
    limits = zip(counts, starts, strict=True)
    return ObservationSpec(bounds=tuple((float(s), float(s + n - 1)) for n, s in limits))


def check_reward(reward: Any) -> float:
    """Convert a reward to a finite float, or raise an error."""
    try:
        number = float(reward)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"reward: must be a finite number, got {reward!r}")
    return number


class ExternalPart(NamedTuple):
    """``received`` is the latest observation: a state index (1,), or a vector."""

    received: np.ndarray


@observation.register(ExternalPart)
def _(domain):
    return domain.received


def _limit(value: Any) -> tuple[float, float]:
    low, high = map(float, value)
    if not low < high:
        raise ValueError
    return low, high


LIMITS = list_of(Rule("", _limit), "a list of (low, high) with low below high")


class ExternalDomain(Domain):
    """An environment that the user steps through, as a ``Learner`` sees it.

    Observations are state indices below ``n_states``, or vectors of ``components`` numbers within
    ``limits``, if those are known.
    """

    n_actions: int = parameter(whole(1), meaning="number of actions")
    n_states: int | None = parameter(or_none(whole(1)), default=None)
    limits: Sequence[tuple[float, float]] | None = parameter(or_none(LIMITS), default=None)
    components: int = parameter(whole(1), default=1, meaning="numbers in an observation")

    def validate(self) -> None:
        if self.limits is not None and len(self.limits) != self.components:
            raise ValueError(
                f"ExternalDomain: {len(self.limits)} limits for {self.components} components"
            )

    @property
    def actions(self) -> int:
        return self.n_actions

    @property
    def states(self) -> int | None:
        return self.n_states

    @property
    def bounds(self) -> tuple[tuple[float, float], ...] | None:
        return None if self.limits is None else tuple(self.limits)

    def build(self, rng: np.random.Generator) -> ExternalPart:
        dtype = np.float64 if self.n_states is None else np.int64
        return ExternalPart(np.zeros(self.components, dtype))
