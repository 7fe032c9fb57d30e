"""Build the parts of one run, for tests that call verbs themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from expectant.core.interfaces import BuildContext
from expectant.core.reductions import padded_size
from expectant.core.vectors import Transition, empty_state
from expectant.core.verbs import encode
from expectant.step_sizes import Fixed


def per_feature(step: float) -> Fixed:
    """The α of the printed updates: per active feature and unbounded."""
    return Fixed(step, per="feature", bounded=False)


class Built:
    """An agent in a domain with features, and states by their number."""

    def __init__(self, domain: Any, features: Any, agent: Any = None, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.shape = features.shape(domain)
        self.features = features.build(domain, self.rng)
        self.domain = domain.build(self.rng)
        self.setting = BuildContext(
            shape=self.shape,
            width=padded_size(self.shape.size),
            actions=domain.actions,
            domain=domain,
            domain_part=self.domain,
            features_part=self.features,
            rng=self.rng,
            planning=self.rng,
        )
        self.agent: Any = agent.build(self.setting) if agent is not None else None

    def state(self, number: int) -> Any:
        state = empty_state(self.shape)
        encode(self.features, np.array([number]), -1, state)
        state.state_index[0] = number
        return state

    def transition(
        self, state: int, action: int, reward: float, next_state: int | None
    ) -> Transition:
        """One step; after an end (None) the next state is another one, which nobody may look at."""
        other = (state + 1) % int(self.setting.domain.states or 0)
        successor = self.state(other if next_state is None else next_state)
        alive = 0.0 if next_state is None else 1.0
        return Transition(self.state(state), action, reward, successor, alive, 0)
