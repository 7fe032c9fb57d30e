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
from expectant.core.interfaces import Domain
from expectant.core.rng import SEED, generator
from expectant.core.rules import at_least, whole
from expectant.domains.external import ExternalPart, GymSource
from expectant.domains.gym import Gym, GymRun

Bounds = tuple[tuple[float, float], ...]
UNBOUNDED = 1e30  # environments without bounds often report the largest float
MAX_STEPS = 10_000  # of an episode without a step limit
MARGIN = 0.1  # of the observed range


def known_bounds(
    owner: str,
    domain: Domain,
    explicit: Sequence[tuple[float, float]] | None,
    dimensions: Sequence[int] | None = None,
) -> Bounds:
    """Return the ``explicit`` bounds or else the domain's, of all or some ``dimensions``.

    Raise ValueError if they are missing, infinite or of the wrong number.
    """
    native, name = domain.bounds, type(domain).__name__
    if explicit is None and native is None:
        raise ValueError(
            f"{owner}: needs a domain with bounds, {name} has none: give bounds=, "
            "a (low, high) for every component of its observations"
        )
    components = 1 if domain.states is not None else None if native is None else len(native)
    if explicit is not None and components not in (None, len(explicit)):
        raise ValueError(
            f"{owner}: bounds must have one (low, high) for each of the {components} components "
            f"of the observations of {name}, got {len(explicit)}"
        )
    bounds = tuple((float(low), float(high)) for low, high in explicit or native or ())
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
                "that ex.features.bounds_of estimates"
            )
    return bounds if dimensions is None else tuple(bounds[dimension] for dimension in dimensions)


def bounds_of(
    environment: Domain | GymSource, episodes: int = 20, *, margin: float = MARGIN, seed: int = 0
) -> list[tuple[float, float]]:
    """Return (low, high) of every component of an environment's observations, for ``bounds=``.

    ``environment`` is a domain, or anything that ``ex.Gym`` takes. Components without bounds get
    the range observed in ``episodes`` of random play, extended by the fraction ``margin`` on both
    sides, and are printed. A learning agent may get further; its observations are then clipped.
    """
    owner = "bounds_of"
    whole(1).check(owner, "episodes", episodes)
    at_least(0.0).check(owner, "margin", margin)
    SEED.check(owner, "seed", seed)
    domain = environment if isinstance(environment, Domain) else Gym(environment)
    name = repr(domain) if isinstance(domain, Gym) else type(domain).__name__
    if domain.bounds is None:
        raise ValueError(f"{owner}: {name} has no vectors for observations, but numbered states")
    unbounded = [n for n, limits in enumerate(domain.bounds) if not is_bounded(*limits)]
    if not unbounded:
        return [(float(low), float(high)) for low, high in domain.bounds]
    bounds = widen_bounds(domain, play_at_random(domain, episodes, seed), margin)
    ranges = ", ".join(f"{n}: {bounds[n][0]:.3g} to {bounds[n][1]:.3g}" for n in unbounded)
    print(
        f"{owner}: component{'s' if len(unbounded) > 1 else ''} without bounds in {name}, "
        f"estimated from {episodes} episodes of acting at random: {ranges}",
        file=sys.stderr,
    )
    return bounds


@dataclass
class RandomPlay:
    """Returns and lengths of episodes of random play, and the range of the observations.

    ``integral`` is True if only whole numbers were observed.
    """

    returns: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    low: np.ndarray = field(default_factory=lambda: np.array(np.inf))
    high: np.ndarray = field(default_factory=lambda: np.array(-np.inf))
    integral: bool = True

    def observe(self, observation: np.ndarray) -> None:
        self.low = np.minimum(self.low, observation)
        self.high = np.maximum(self.high, observation)
        self.integral = self.integral and bool((observation % 1 == 0).all())


def play_at_random(
    domain: Domain,
    episodes: int,
    seed: int = 0,
    play: RandomPlay | None = None,
    check_time: Callable[[], None] = lambda: None,
) -> RandomPlay:
    """Act at random, adding to ``play``; ``check_time`` is called after every step."""
    play = play or RandomPlay()
    rng = generator(seed, 0)
    part: Any = domain.build(rng)
    external = isinstance(part, ExternalPart)
    context: Any = closing(domain.make_env(seed, 0)) if external else nullcontext()
    with context as env:
        for episode in range(episodes):
            if external:
                env.reset(part.received)
                check_finite(part.received, env)
            else:
                verbs.reset(part, episode, rng)
            play.observe(part.received if external else verbs.observation(part))
            total, length, over = 0.0, 0, False
            while not over and length < (domain.step_limit or MAX_STEPS):
                action = int(rng.integers(domain.actions))
                if external:
                    reward, terminated, truncated = env.step(action, part.received)
                    check_finite(part.received, env)
                    over = terminated or truncated
                    play.observe(part.received)
                else:
                    reward, alive = verbs.step(part, action, rng)
                    over = alive == 0.0 or verbs.truncated(part)
                    if not over:
                        play.observe(verbs.observation(part))
                total, length = total + reward, length + 1
                check_time()
            play.returns.append(total)
            play.lengths.append(length)
    return play


def widen_bounds(
    domain: Domain, play: RandomPlay, margin: float = MARGIN
) -> list[tuple[float, float]]:
    """Return the domain's bounds; where it has none, the observed range plus a ``margin``."""
    bounds = []
    for n, (low, high) in enumerate(domain.bounds or ()):
        if is_bounded(low, high) and low < high:
            bounds.append((float(low), float(high)))
            continue
        spread = play.high[n] - play.low[n]
        extra = margin * spread if spread > 0 else 1.0
        bounds.append((float(play.low[n] - extra), float(play.high[n] + extra)))
    return bounds


def is_bounded(low: float, high: float) -> bool:
    return max(-low, high) < UNBOUNDED


def check_finite(observation: np.ndarray, env: GymRun) -> None:
    """Refuse observations with NaN or infinity."""
    if not np.isfinite(observation).all():
        raise EnvError(
            f"observation: must be finite numbers, got {observation}, in run {env.run}, episode "
            f"{env.episode}, step {env.steps_taken} of {env.env}"
        )
