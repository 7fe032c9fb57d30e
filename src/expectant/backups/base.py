"""What all backup distributions have in common."""

from __future__ import annotations

from typing import Any, ClassVar

from expectant.descriptions import Description, Setting


class Backups(Description):
    """A backup distribution, described.

    ``stores_transitions`` says that every draw is a stored transition, whose action, reward and
    next state the verbs ``stored`` and ``load_successor`` give back; ``knows_places`` that the
    states it draws carry the number of the environment's own state, for exact models.
    """

    stores_transitions: ClassVar[bool] = False
    knows_places: ClassVar[bool] = True

    def build(self, setting: Setting) -> Any:
        """The part that compiled code draws from, made for one run."""
        raise NotImplementedError
