"""Worlds outside compiled code: numbered actions go out, numbers or vectors come in."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import Domain
from expectant.core.rules import Rule, list_of, or_none, whole
from expectant.core.verbs import observation


class GymEnvironment(Protocol):
    """What is asked of an environment of Gymnasium."""

    @property
    def action_space(self) -> object: ...
    @property
    def observation_space(self) -> object: ...
    def reset(self, *, seed: int | None = None) -> tuple[object, dict[str, object]]: ...
    def step(self, action: int, /) -> tuple[object, object, bool, bool, dict[str, object]]: ...
    def close(self) -> None: ...


Given = TypeVar("Given")
GymSource = str | GymEnvironment | Callable[..., GymEnvironment]  # an id, one, what makes one

MOST_STATES = 1_000_000  # more combinations than that are better observed as a vector


class ObservationSpec(NamedTuple):
    """How observations are read: as numbers of states, or as vectors.

    ``states`` is how many states there are if they are numbered: the combinations of whole numbers
    below ``counts``, each from its ``starts`` on. Otherwise ``bounds`` has (low, high) of every
    component of a vector, where they are known.
    """

    states: int | None = None
    bounds: tuple[tuple[float, float], ...] | None = None
    counts: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()

    def convert(self, observation: object, into: np.ndarray) -> None:
        """Write an observation into an array, as a number or a vector; an error if it is neither.

        Compiled code does not look again whether it is in range.
        """
        if self.states is None:
            try:
                vector = np.ravel(np.asarray(observation, float))
            except OverflowError as error:  # a whole number that no float holds
                raise TypeError(f"observation: {error}") from None
            if vector.size != into.size:
                raise ValueError(
                    f"observation: must have {into.size} components, got {observation!r}"
                )
            into[:] = vector
            return
        values = (observation,) if len(self.counts) == 1 else np.ravel(np.asarray(observation))
        if len(values) != len(self.counts):
            raise ValueError(
                f"observation: must have {len(self.counts)} components, got {observation!r}"
            )
        number = 0
        for value, count, start in zip(values, self.counts, self.starts, strict=True):
            place = operator.index(value) - start
            if not 0 <= place < count:
                raise ValueError(
                    f"observation: must be a whole number from {start} to {start + count - 1}, "
                    f"got {observation!r}"
                )
            number = number * count + place
        into[0] = number

    def buffer(self) -> np.ndarray:
        """An array that holds one observation."""
        return np.zeros(len(self.bounds or ())) if self.states is None else np.zeros(1, np.int64)


def numbered_states(states: int) -> ObservationSpec:
    """Observations that are the numbers of states."""
    return ObservationSpec(states, None, (states,), (0,))


def check_single_env(environment: Given, owner: str, advice: str = "") -> Given:
    """The same; an error where it is several environments in one."""
    if hasattr(environment, "single_action_space"):
        raise ValueError(
            f"{owner}: {environment!r} is several environments at once (gymnasium.vector): give "
            f"one of them{advice}"
        )
    return environment


def action_count(space: object, owner: str) -> int:
    """How many actions a space has; an error where they are not numbered."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return int(space.n)
    raise ValueError(
        f"{owner}: these agents choose among numbered actions (Discrete), and its action space is "
        f"{space}: wrap it so that each number stands for one of some fixed actions, or for one "
        "combination of them (gymnasium.wrappers.TransformAction)"
    )


def observation_spec(space: object, numbered: bool | None, owner: str) -> ObservationSpec:
    """How to read a space. ``numbered`` says whether whole numbers count as states or as a vector.

    Left open (None), they count as states where there are not too many of them.
    """
    from gymnasium import spaces

    if isinstance(space, spaces.Box):
        if numbered:
            raise ValueError(f"{owner}: numbered=True, but its observations are vectors: {space}")
        pairs = zip(space.low.ravel().tolist(), space.high.ravel().tolist(), strict=True)
        return ObservationSpec(bounds=tuple(pairs))
    if isinstance(space, spaces.Discrete):
        counts: tuple[int, ...] = (int(space.n),)
        starts: tuple[int, ...] = (int(space.start),)
    elif isinstance(space, spaces.MultiDiscrete):
        counts = tuple(int(n) for n in space.nvec.ravel())
        starts = tuple(int(n) for n in np.ravel(space.start))
    elif isinstance(space, spaces.Tuple) and all(
        isinstance(part, spaces.Discrete) for part in space.spaces
    ):
        counts = tuple(int(part.n) for part in space.spaces)  # type: ignore[attr-defined]
        starts = tuple(int(part.start) for part in space.spaces)  # type: ignore[attr-defined]
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
    if numbered is None:
        numbered = states <= MOST_STATES
    if not numbered:
        limits = zip(counts, starts, strict=True)
        return ObservationSpec(bounds=tuple((float(s), float(s + n - 1)) for n, s in limits))
    return ObservationSpec(states, None, counts, starts)


def finite_reward(reward: Any) -> float:
    """A reward as a number; an error if it is none."""
    try:
        number = float(reward)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"reward: must be a finite number, got {reward!r}")
    return number


class ExternalPart(NamedTuple):
    """``received`` is the latest observation: the number of a state, or a vector."""

    received: np.ndarray


@observation.register(ExternalPart)
def _(domain):
    return domain.received


def _pair(value: Any) -> tuple[float, float]:
    low, high = map(float, value)
    if not low < high:
        raise ValueError
    return low, high


LIMITS = list_of(Rule("", _pair), "a list of (low, high) with low below high")


class ExternalDomain(Domain):
    """A world that somebody else steps through: what a ``Learner`` knows of it.

    Its observations are numbers below ``n_states``, or vectors of ``components`` numbers, within
    ``limits`` where those are known.
    """

    n_actions: int = parameter(whole(1))
    n_states: int | None = parameter(or_none(whole(1)), default=None)
    limits: Sequence[tuple[float, float]] | None = parameter(or_none(LIMITS), default=None)
    components: int = parameter(whole(1), default=1)

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
