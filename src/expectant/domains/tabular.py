"""What domains that are finite MDPs share: all that is left to say is their table."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from expectant.domains.finite import FiniteMDP
from expectant.parts import Domain


class TabularDomain(Domain):
    """A domain that is a finite MDP; ``table`` makes it, once."""

    def table(self) -> FiniteMDP:
        """The domain as a finite MDP, made anew."""
        raise NotImplementedError

    @property
    def states(self) -> int:
        return self.mdp().states

    @property
    def actions(self) -> int:
        return self.mdp().actions

    @property
    def endless(self) -> bool:
        return self.mdp().endless

    def mdp(self) -> FiniteMDP:
        """The domain as a finite MDP, for exact answers and exact models."""
        return self._mdp

    @cached_property
    def _mdp(self) -> FiniteMDP:
        return self.table()

    def build(self, rng: np.random.Generator) -> object:
        return self.mdp().build(rng)
