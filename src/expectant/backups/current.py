"""Planning from where the agent is now."""

from __future__ import annotations

from typing import NamedTuple

from expectant.descriptions import description
from expectant.features.vector import Binary, Weighted, empty_state
from expectant.parts import Backups, Site
from expectant.verbs import copy, draw, remember


class CurrentPart(NamedTuple):
    """``state`` is the one that the agent has just reached."""

    state: Binary | Weighted


@remember.register(CurrentPart)
def _(backups, transition):
    if transition.alive > 0.0:
        copy(backups.state, transition.next_state)
    else:
        copy(backups.state, transition.state)  # nothing can be planned from the end itself


@draw.register(CurrentPart)
def _(backups, state, rng):
    copy(state, backups.state)
    return -1


@description
class CurrentState(Backups):
    """Always the state that the agent has just reached; after the end, the last one before it."""

    def build(self, site: Site) -> CurrentPart:
        return CurrentPart(empty_state(site.shape))
