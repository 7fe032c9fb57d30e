"""What a part is built for, and what it tells of itself: sizes, how it is drawn."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from expectant.core.memory import zeros

if TYPE_CHECKING:
    from expectant.parts import Domain


class Shape(NamedTuple):
    """The shape of a feature vector: size d, k active entries, whether they carry values.

    ``bias`` is the feature that is always one, −1 where there is none. ``remembers`` says that the
    vector depends on more than the present observation.
    """

    size: int
    active: int
    weighted: bool = False
    bias: int = -1
    remembers: bool = False


@dataclass(frozen=True)
class Site:
    """What a model, a backup distribution or an agent is built for, in one run.

    ``rng`` is what is drawn from while it is built; a part that draws later without being given a
    generator keeps ``planning``, the run's stream for that. ``control`` (1,) is not zero once the
    run is to stop; work that takes long heeds it. ``promise`` is what an agent wants its model to
    promise of what was never tried, ``discount`` the agent's.
    """

    shape: Shape
    width: int
    actions: int
    domain: Domain
    domain_part: object
    features_part: object
    rng: np.random.Generator
    planning: np.random.Generator
    control: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(1, np.int64))
    promise: float = 0.0
    discount: float = 1.0


class Exit(NamedTuple):
    """A place where episodes end, and what it pays in each phase (empty: nothing to tell)."""

    x: float
    y: float
    pays: tuple[float, ...]


class Drawing(NamedTuple):
    """How a domain is drawn: its states in a row, in the cells of a grid, or in a plane.

    ``names`` are those of the two axes, ``actions`` those of the actions. ``cells`` are the column
    and the row of every state of a grid, in the order of their numbers; without them numbered
    states are a row, and vectors of two components a plane. ``directions`` is where each action
    goes, across and down (in a plane up); None where actions have no direction. ``phases`` says in
    words what holds in each phase.
    """

    names: tuple[str, str]
    actions: tuple[str, ...]
    cells: tuple[tuple[int, int], ...] | None = None
    directions: tuple[tuple[float, float], ...] | None = None
    exits: tuple[Exit, ...] = ()
    phases: tuple[str, ...] = ("",)


class KnownValues(NamedTuple):
    """What is known of some states: ``observations`` (n, m), their ``values`` (n,) and by how much
    those may be off, one standard error each, ``errors`` (n,)."""

    observations: np.ndarray
    values: np.ndarray
    errors: np.ndarray


class OutsideWorld(Protocol):
    """What runs outside compiled code: observations into an array, numbers of actions out.

    ``asked`` is what ``env`` has not answered yet, in step ``taken`` of ``episode`` of its ``run``.
    """

    run: int
    asked: str
    episode: int
    taken: int

    @property
    def env(self) -> object: ...

    def reset(self, received: np.ndarray) -> None:
        """Begin an episode."""

    def step(self, action: int, received: np.ndarray) -> tuple[float, bool, bool]:
        """(reward, terminated, truncated)."""

    def close(self) -> None: ...


def narrowest(highest: int) -> type[np.signedinteger]:
    """The smallest whole numbers that reach as far."""
    kinds = (np.int8, np.int16, np.int32)
    return next((kind for kind in kinds if highest <= np.iinfo(kind).max), np.int64)


def constant_weights(shape: Shape, width: int, value: float, owner: str) -> np.ndarray:
    """Weights w (D,) with wᵀs = ``value`` in every state s."""
    weights = zeros(width)
    if value == 0.0:
        return weights
    if shape.bias >= 0:
        weights[shape.bias] = value
    elif shape.weighted:
        raise ValueError(
            f"{owner}={value!r} needs features whose values add up to the same in every state: "
            "binary ones, or ones with a bias unit"
        )
    else:
        weights[: shape.size] = value / shape.active
    return weights
