"""Feature maps of numbered states: one-hot, and random binary vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from expectant.descriptions import description, option
from expectant.integrity import within
from expectant.parts import Domain, Features, Need, Shape, Site, bytes_of
from expectant.rules import or_none, whole
from expectant.seeds import generator
from expectant.verbs import check_restored, encode, encode_all

ROW_BYTES = 144  # what NumPy takes for a small array beside its numbers


class TablePart(NamedTuple):
    """``active`` (S, k): the ones of every state's vector."""

    active: np.ndarray


@encode.register(TablePart)
def _(features, observation, action, state):
    row = observation[0]
    for n in range(features.active.shape[1]):
        state.active[n] = features.active[row, n]


@encode_all.register(TablePart)
def _(features, states, table, state):
    table.active[:] = features.active[:states]
    table.places[:] = np.arange(states)


@check_restored.register(TablePart)
def _(features, built, site):
    within("features: active", features.active, 0, site.shape.size - 1)


def numbered_states(domain: Domain, owner: str) -> int:
    """How many states a domain numbers; an error where observations are not numbers."""
    if domain.states is None:
        raise ValueError(
            f"{owner}: needs a domain with numbered states, {type(domain).__name__} has none"
        )
    return int(domain.states)


@description
class OneHot(Features):
    """One feature per state: the tabular case."""

    def shape(self, domain: Domain) -> Shape:
        return Shape(numbered_states(domain, "OneHot"), 1)

    def estimate_memory(self, site: Site) -> Sequence[Need]:
        states = numbered_states(site.domain, "OneHot")
        way_out = "such as RandomBinary(size, active) with fewer features than states"
        return [Need(f"the features of {states:,} states", bytes_of((states,)), way_out)]

    def build(self, domain: Domain, rng: np.random.Generator) -> TablePart:
        states = numbered_states(domain, "OneHot")
        return TablePart(np.arange(states, dtype=np.int64).reshape(states, 1))


@description
class RandomBinary(Features):
    """``active`` ones among ``size`` bits for every state, drawn without replacement, per run.

    With a number for ``draw`` all runs have the same vectors, drawn from that number.
    """

    size: int = option(whole(1))
    active: int = option(whole(1))
    draw: int | None = option(or_none(whole(0)), default=None, kw_only=True)

    def validate(self) -> None:
        if self.active > self.size:
            raise ValueError(
                f"RandomBinary: active must be at most size, got active={self.active} "
                f"with size={self.size}"
            )

    def shape(self, domain: Domain) -> Shape:
        numbered_states(domain, "RandomBinary")
        return Shape(self.size, self.active)

    def estimate_memory(self, site: Site) -> Sequence[Need]:
        states = numbered_states(site.domain, "RandomBinary")
        held = bytes_of((states, self.active))
        building = held + ROW_BYTES * states
        what = f"the features of {states:,} states"
        return [Need(what, held, "a smaller size of RandomBinary", building)]

    def build(self, domain: Domain, rng: np.random.Generator) -> TablePart:
        states = numbered_states(domain, "RandomBinary")
        rng = rng if self.draw is None else generator(self.draw, 0)
        rows = np.array([rng.choice(self.size, self.active, False) for _ in range(states)])
        return TablePart(np.sort(rows, axis=1))
