"""What random play tells of a world, and the features that follow from it."""

from __future__ import annotations

import math
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from expectant.engine.course import world_of
from expectant.features.categorical import Categorical
from expectant.features.identity import Identity
from expectant.features.joined import Joined
from expectant.features.random_play import check_finite
from expectant.features.table import OneHot
from expectant.features.tiles import Tiles
from expectant.lab.trying.promise import Deadline, OutOfTime
from expectant.lab.trying.watched import watched
from expectant.parts import Domain, Features
from expectant.seeds import generator
from expectant.verbs import cut, observation, reset, step
from expectant.whose import WorldError

EPISODES, FEWEST = 100, 3  # of random play
LOOKED = 0.08  # of the promised time is over when it ends
LONGEST = 10_000  # steps of an episode that does not end by itself
ENDLESS = 1e30  # where there is no bound, some say the largest number there is
MARGIN = 0.1
MOST_STATES = 5_000  # with a feature each
MOST_CATEGORIES = 100_000
MOST_TILED = 8  # components
MANY = 500  # features from which on a dense model is too large to be quick


@dataclass
class RandomPlay:
    """Returns and lengths of episodes of random play, and where observations were.

    ``failure`` is what the environment failed with, if it did after enough of them.
    """

    returns: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    whole: bool = True
    failure: str = ""

    def look(self, seen: np.ndarray) -> None:
        if self.low is None or self.high is None:
            self.low, self.high = seen.astype(float), seen.astype(float)
        np.minimum(self.low, seen, out=self.low)
        np.maximum(self.high, seen, out=self.high)
        self.whole = self.whole and bool((seen % 1 == 0).all())


def play_at_random(domain: Domain, deadline: Deadline, seed: int) -> RandomPlay:
    """As many episodes as there is time for; an error if that are too few to tell anything."""
    seen, given = RandomPlay(), deadline.left()
    try:
        watched(lambda: _play(domain, deadline, seed, seen), domain, deadline)
    except OutOfTime:
        if len(seen.returns) < FEWEST:
            raise ValueError(
                f"try_on: {FEWEST} episodes of acting at random take longer than they may, "
                f"{100 * LOOKED:.0f} % of the time ({given:.2g} s), after {len(seen.returns)} of "
                "them: give more minutes, or a limit to episodes (max_episode_steps=)"
            ) from None
    except WorldError as error:
        if len(seen.returns) < FEWEST:
            raise
        seen.failure = str(error)
    return seen


def _play(domain: Domain, deadline: Deadline, seed: int, seen: RandomPlay) -> None:
    """Act at random until there are enough episodes, or time is over."""
    with closing(_episodes(domain, deadline, seed, seen)) as episodes:
        for total, length in episodes:
            seen.returns.append(total)
            seen.lengths.append(length)
            if len(seen.returns) == EPISODES:
                break
            if len(seen.returns) >= FEWEST:
                deadline.check()


def _episodes(
    domain: Domain, deadline: Deadline, seed: int, seen: RandomPlay
) -> Generator[tuple[float, int], None, None]:
    """Return and length of one episode after the other."""
    rng, limit = generator(seed, 0), domain.step_limit or LONGEST
    part: Any = domain.build(rng)
    if domain.outside:
        with world_of(domain, seed, 0) as world:
            while True:
                world.reset(part.received)
                yield _episode(world, part.received, domain.actions, limit, deadline, rng, seen)
    for episode in range(EPISODES):
        reset(part, episode, rng)
        total, length, alive = 0.0, 0, 1.0
        while alive > 0.0 and length < limit and not (length and cut(part)):
            seen.look(observation(part))
            reward, alive = step(part, int(rng.integers(domain.actions)), rng)
            total, length = total + reward, length + 1
            deadline.check()
        yield total, length


def _episode(
    world: Any, received: np.ndarray, actions: int, limit: int, deadline: Deadline,
    rng: np.random.Generator, seen: RandomPlay,
) -> tuple[float, int]:  # fmt: skip
    total, length, over = 0.0, 0, False
    check_finite(received, world)
    seen.look(received)
    while not over and length < limit:
        reward, terminated, truncated = world.step(int(rng.integers(actions)), received)
        check_finite(received, world)
        seen.look(received)
        total, length, over = total + reward, length + 1, terminated or truncated
        deadline.check()
    return total, length


def propose(domain: Domain, seen: RandomPlay) -> Features:
    """Features for a world: a table for numbered states, tiles for a few numbers, and so on."""
    if domain.states is not None:
        several = domain.states > MOST_STATES and len(domain.counts) > 1
        return Categorical() if several else OneHot()
    bounds = estimated_bounds(domain, seen)
    if _categories(domain, seen) <= MOST_CATEGORIES:
        return Categorical()
    components = len(bounds)
    if components > MOST_TILED:
        return Identity(bounds)
    if components < 4:
        return Tiles(8, {1: 10, 2: 8, 3: 5}[components], bounds)
    return _subsets(bounds)


def _subsets(bounds: list[tuple[float, float]]) -> Features:
    """Fine tiles of pairs of components, and coarse ones of all of them."""
    components = len(bounds)
    coarse = Tiles(8, 3, bounds) if components == 4 else Tiles(8, 2, bounds, hash_size=8_192)
    found: Features = coarse
    for first in range(0, components, 2):
        pair = tuple(range(first, min(first + 2, components)))
        found = Joined(found, Tiles(4, 6, bounds, dimensions=pair))
    return found


def estimated_bounds(domain: Domain, seen: RandomPlay) -> list[tuple[float, float]]:
    """A world's own bounds, or where it has none those of what was seen and a little more."""
    found = []
    for n, (low, high) in enumerate(domain.bounds or ()):
        if max(-low, high) < ENDLESS and low < high:
            found.append((float(low), float(high)))
            continue
        assert seen.low is not None
        assert seen.high is not None
        least, most = float(seen.low[n]), float(seen.high[n])
        room = MARGIN * (most - least) if most > least else 1.0
        found.append((least - room, most + room))
    return found


def _categories(domain: Domain, seen: RandomPlay) -> float:
    """How many features one for every value of every component would be; infinite if not whole."""
    total = 0.0
    for low, high in domain.bounds or ():
        if not seen.whole or max(-low, high) >= ENDLESS or low % 1 or high % 1:
            return math.inf
        total += high - low + 1
    return total
