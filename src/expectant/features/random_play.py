"""Where observations lie, found out by acting at random."""

from __future__ import annotations

import math
from contextlib import closing

import numpy as np

from expectant.domains.gym import Gym
from expectant.domains.outside import OutsidePart
from expectant.domains.spaces import GymSource
from expectant.parts import Domain, OutsideWorld
from expectant.progress import say
from expectant.rules import at_least, whole
from expectant.seeds import SEED, generator
from expectant.verbs import cut, observation, reset, step
from expectant.whose import WorldError

ENDLESS = 1e30  # environments that have no bounds often say the largest number there is
LONGEST = 10_000  # steps of an episode that does not end by itself
OWNER = "bounds_of"


def bounds_of(
    environment: Domain | GymSource, episodes: int = 20, *, margin: float = 0.1, seed: int = 0
) -> list[tuple[float, float]]:
    """(low, high) of every component of an environment's observations, for ``bounds=``.

    ``environment`` is a domain, or whatever ``ex.Gym`` takes. Bounds that it has are left as they
    are. Components without any get those of what was seen in so many ``episodes`` of acting at
    random, and on both sides a share of that range, the ``margin``, more; a line says which. An
    agent that learns may get further: what lies beyond is then taken to be at the bound.
    """
    whole(1).check(OWNER, "episodes", episodes)
    at_least(0.0).check(OWNER, "margin", margin)
    SEED.check(OWNER, "seed", seed)
    domain = environment if isinstance(environment, Domain) else Gym(environment)
    name = repr(domain) if isinstance(domain, Gym) else type(domain).__name__
    own = domain.bounds
    if own is None:
        raise ValueError(f"{OWNER}: {name} has no vectors for observations, but numbered states")
    endless = [n for n, (low, high) in enumerate(own) if not max(-low, high) < ENDLESS]
    found = [(float(low), float(high)) for low, high in own]
    if not endless:
        return found
    low, high = _seen(domain, episodes, seed)
    for n in endless:
        room = margin * (high[n] - low[n]) if high[n] > low[n] else 1.0
        found[n] = (float(low[n] - room), float(high[n] + room))
    shown = ", ".join(f"{n}: {found[n][0]:.3g} to {found[n][1]:.3g}" for n in endless)
    plural = "s" if len(endless) > 1 else ""
    say(
        f"{OWNER}: component{plural} without bounds in {name}, estimated from {episodes} episodes "
        f"of acting at random: {shown}"
    )
    return found


def check_finite(seen: np.ndarray, world: OutsideWorld) -> None:
    """Refuse what an environment has answered if it is no number; agents would do so later."""
    wrong = np.flatnonzero(~np.isfinite(seen))
    if wrong.size:
        raise WorldError(
            f"observation: component {wrong[0]} must be a finite number, got {seen[wrong[0]]}, in "
            f"run {world.run}, episode {world.episode}, step {world.taken} of {world.env}"
        )


def _seen(domain: Domain, episodes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest of every component in some episodes."""
    rng = generator(seed, 0)
    part = domain.build(rng)
    limit = domain.step_limit or LONGEST
    low = np.full(len(domain.bounds or ()), math.inf)
    high = -low

    def look(seen: np.ndarray) -> None:
        np.minimum(low, seen, out=low)
        np.maximum(high, seen, out=high)

    if isinstance(part, OutsidePart):
        with closing(domain.world(seed, 0)) as world:
            for _ in range(episodes):
                world.reset(part.received)
                check_finite(part.received, world)
                look(part.received)
                for _ in range(limit):
                    action = int(rng.integers(domain.actions))
                    _, terminated, truncated = world.step(action, part.received)
                    check_finite(part.received, world)
                    look(part.received)
                    if terminated or truncated:
                        break
        return low, high
    for episode in range(episodes):
        reset(part, episode, rng)
        look(observation(part))
        for _ in range(limit):
            _, alive = step(part, int(rng.integers(domain.actions)), rng)
            if alive == 0.0 or cut(part):
                break
            look(observation(part))
    return low, high
