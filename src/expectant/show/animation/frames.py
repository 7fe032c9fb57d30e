"""What an animation shows, as plain arrays: where the states lie, and frames of one run.

Shape letters: n states that are looked at, m components of an observation, A actions, c points of
the learning curve; g is 1 for states in a row, 2 for states in a grid or a plane.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from expectant.parts import Exit

__all__ = ["GRID", "PLANE", "ROW", "UNDECIDED", "Exit", "Frame", "Layout", "Recording"]

ROW, GRID, PLANE = "row", "grid", "plane"
UNDECIDED = -1  # instead of a greedy action, where several are as good


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the states that are looked at lie, row by row.

    ``kind`` is a row of cells, a grid of cells or a plane; ``across`` are the coordinates of the
    columns, ``along`` those of the rows. ``observations`` (n, m) is what the agent sees there.
    ``directions`` (A, 2) is where each action goes, None where actions have no direction.
    ``phases`` says in words what holds in each phase of the domain. ``cells`` (n,) are the places
    of the states in the grid, counted row by row; None if every place has a state.
    """

    kind: str
    across: np.ndarray
    along: np.ndarray
    names: tuple[str, str]
    observations: np.ndarray
    actions: tuple[str, ...]
    directions: np.ndarray | None = None
    exits: tuple[Exit, ...] = ()
    phases: tuple[str, ...] = ("",)
    cells: np.ndarray | None = None

    @property
    def points(self) -> np.ndarray:
        """The coordinates (n, g) of the states."""
        pairs = np.stack(np.meshgrid(self.across, self.along), axis=-1).reshape(-1, 2)
        pairs = pairs if self.cells is None else pairs[self.cells]
        return pairs[:, :1] if self.kind == ROW else pairs

    def image(self, numbers: np.ndarray) -> np.ndarray:
        """One number per state (n,) as rows and columns, NaN where there is no state."""
        if self.cells is not None:
            everywhere = np.full(self.along.size * self.across.size, np.nan)
            everywhere[self.cells] = numbers
            numbers = everywhere
        return numbers.reshape(self.along.size, self.across.size)


class Frame(NamedTuple):
    """What an agent knows after so many episodes and steps.

    ``values`` (n,), the greedy ``actions`` (n,) (−1 where several are as good), and what the model
    predicts of them: the reward ``rewards`` (n,) and the displacement ``moves`` (n, g), NaN where
    the agent has no model. ``option`` is the number of the course of action that it follows, −1
    where it follows none.
    """

    episode: int
    step: int
    phase: int
    values: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    moves: np.ndarray
    option: int = -1


@dataclass(frozen=True, eq=False)
class Recording:
    """One run, to be drawn.

    Time is counted in ``unit`` ("episode" or "step"), up to ``length``. ``times``, ``curve`` (c,)
    are the learning curve, whose axis is named ``measure``. ``changes`` are the times at which the
    domain changes.
    """

    title: str
    layout: Layout
    frames: tuple[Frame, ...]
    unit: str
    length: int
    times: np.ndarray
    curve: np.ndarray
    measure: str
    changes: tuple[int, ...]
    diverged: bool

    @property
    def has_model(self) -> bool:
        """Whether the agent has a model to show."""
        return not np.isnan(self.frames[0].rewards).all()

    def time(self, frame: Frame) -> int:
        """When a frame was taken."""
        return frame.episode if self.unit == "episode" else frame.step

    def caption(self, frame: Frame) -> str:
        """A frame in words: 'episode 612 · step 8,431 · goal on the left'."""
        phase = self.layout.phases[frame.phase] if frame.phase < len(self.layout.phases) else ""
        ended = "diverged" if self.diverged and frame is self.frames[-1] else ""
        followed = f"follows option {frame.option}" if frame.option >= 0 else ""
        parts = (f"episode {frame.episode:,}", f"step {frame.step:,}", phase, followed, ended)
        return " · ".join(filter(None, parts))
