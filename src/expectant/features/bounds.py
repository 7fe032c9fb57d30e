"""Bounds of observations: given, the domain's own, or estimated by random play."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from expectant.core import verbs
from expectant.core.errors import EnvError
from expectant.core.interfaces import Domain, ExternalEnv
from expectant.core.rng import SEED, generator
from expectant.core.rules import at_least, whole
from expectant.domains.external import ExternalPart, GymSource
from expectant.domains.gym import Gym

Bounds = tuple[tuple[float, float], ...]


def known_bounds(
    owner: str,
    domain: Domain,
    given: Sequence[tuple[float, float]] | None,
    dimensions: Sequence[int] | None = None,
) -> Bounds:
    """The bounds that were given, or else the domain's own; an error if they cannot be used.

    If only some ``dimensions`` are asked for, the others need not be finite.
    """
    own, name = domain.bounds, type(domain).__name__
    if given is None and own is None:
        raise ValueError(
            f"{owner}: needs a domain with bounds, {name} has none: give bounds=, "
            "a (low, high) for every component of its observations"
        )
    components = 1 if domain.states is not None else None if own is None else len(own)
    if given is not None and components not in (None, len(given)):
        raise ValueError(
            f"{owner}: bounds must have one (low, high) for each of the {components} components "
            f"of the observations of {name}, got {len(given)}"
        )
    bounds = tuple((float(low), float(high)) for low, high in given or own or ())
    for dimension in range(len(bounds)) if dimensions is None else dimensions:
        if dimension >= len(bounds):
            raise ValueError(
                f"{owner}: dimensions must be from 0 to {len(bounds) - 1} in {name}, "
                f"got {dimension}"
            )
        low, high = bounds[dimension]
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError(
                f"{owner}: dimension {dimension} of {name} has bounds ({low:g}, {high:g}), which "
                "must be finite with low < high: give bounds= for all dimensions, such as those "
                "that ex.features.bounds_of finds by acting at random"
            )
    return bounds if dimensions is None else tuple(bounds[dimension] for dimension in dimensions)


ENDLESS = 1e30  # environments that have no bounds often say the largest number there is
LONGEST = 10_000  # steps of an episode that does not end by itself
OWNER = "bounds_of"
MARGIN = 0.1  # of the observed range


def bounds_of(
    environment: Domain | GymSource, episodes: int = 20, *, margin: float = MARGIN, seed: int = 0
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
    endless = [n for n, ends in enumerate(own) if not is_bounded(*ends)]
    if not endless:
        return [(float(low), float(high)) for low, high in own]
    found = widen_bounds(domain, play_at_random(domain, episodes, seed), margin)
    shown = ", ".join(f"{n}: {found[n][0]:.3g} to {found[n][1]:.3g}" for n in endless)
    plural = "s" if len(endless) > 1 else ""
    print(
        f"{OWNER}: component{plural} without bounds in {name}, estimated from {episodes} episodes "
        f"of acting at random: {shown}",
        file=sys.stderr,
    )
    return found


@dataclass
class RandomPlay:
    """Returns and lengths of episodes of random play, and the range of the observations.

    ``integral`` is True if only whole numbers were observed.
    """

    returns: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    integral: bool = True

    def look(self, seen: np.ndarray) -> None:
        if self.low is None or self.high is None:
            self.low, self.high = seen.astype(float), seen.astype(float)
        np.minimum(self.low, seen, out=self.low)
        np.maximum(self.high, seen, out=self.high)
        self.integral = self.integral and bool((seen % 1 == 0).all())


def play_at_random(
    domain: Domain,
    episodes: int,
    seed: int = 0,
    play: RandomPlay | None = None,
    heed: Callable[[], None] = lambda: None,
) -> RandomPlay:
    """Act at random for some episodes, adding to ``play``; ``heed`` may raise after any step."""
    play = play or RandomPlay()
    rng = generator(seed, 0)
    part: Any = domain.build(rng)
    limit = domain.step_limit or LONGEST
    outside = isinstance(part, ExternalPart)
    made: Any = closing(domain.make_env(seed, 0)) if outside else nullcontext()
    with made as world:
        for episode in range(episodes):
            if outside:
                world.reset(part.received)
                check_finite(part.received, world)
            else:
                verbs.reset(part, episode, rng)
            play.look(part.received if outside else verbs.observation(part))
            total, length, over = 0.0, 0, False
            while not over and length < limit:
                action = int(rng.integers(domain.actions))
                if outside:
                    reward, terminated, truncated = world.step(action, part.received)
                    check_finite(part.received, world)
                    over = terminated or truncated
                    play.look(part.received)
                else:
                    reward, alive = verbs.step(part, action, rng)
                    over = alive == 0.0 or verbs.truncated(part)
                    if not over:
                        play.look(verbs.observation(part))
                total, length = total + reward, length + 1
                heed()
            play.returns.append(total)
            play.lengths.append(length)
    return play


def widen_bounds(
    domain: Domain, play: RandomPlay, margin: float = MARGIN
) -> list[tuple[float, float]]:
    """The domain's own bounds; where it has none, the observed range and a ``margin``."""
    assert play.low is not None
    assert play.high is not None
    found = []
    for n, (low, high) in enumerate(domain.bounds or ()):
        if is_bounded(low, high) and low < high:
            found.append((float(low), float(high)))
            continue
        spread = play.high[n] - play.low[n]
        room = margin * spread if spread > 0 else 1.0
        found.append((float(play.low[n] - room), float(play.high[n] + room)))
    return found


def is_bounded(low: float, high: float) -> bool:
    return max(-low, high) < ENDLESS


def check_finite(seen: np.ndarray, world: ExternalEnv) -> None:
    """Refuse an observation of an environment that is not a number."""
    if not np.isfinite(seen).all():
        raise EnvError(
            f"observation: must be finite numbers, got {seen}, in run {world.run}, episode "
            f"{world.episode}, step {world.steps_taken} of {world.env}"
        )
