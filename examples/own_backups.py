"""Write a backup distribution: plan from the latest state as often as from memory."""

from typing import Any, NamedTuple

import expectant as ex
from expectant.extend import copy, draw, empty_state, load_successor, remember, stored_transition


class HalfPart(NamedTuple):
    replay: Any  # any other backup distribution
    latest: Any  # a feature vector


@remember.register(HalfPart)
def _(backups, transition):
    remember(backups.replay, transition)
    copy(backups.latest, transition.state)


@draw.register(HalfPart)
def _(backups, state, rng):
    slot = draw(backups.replay, state, rng)
    if rng.random() < 0.5:
        copy(state, backups.latest)
        slot = -1
    return slot


@stored_transition.register(HalfPart)
def _(backups, slot):
    return stored_transition(backups.replay, slot)


@load_successor.register(HalfPart)
def _(backups, slot, state):
    load_successor(backups.replay, slot, state)


class Half(ex.Backups):
    def build(self, context):
        return HalfPart(ex.backups.Replay(1000).build(context), empty_state(context.shape))


if __name__ == "__main__":
    domain = ex.Corridor(slip=0.1, switch_every=200)
    for backups in ("replay", Half()):
        agent = ex.Lookahead(planning_steps=2, backups=backups)
        returns = ex.run(domain, ex.OneHot(), agent, episodes=1000, runs=30).returns
        print(f"{backups!s:7} {returns.mean():6.2f}")
