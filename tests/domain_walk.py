"""Steps of a domain without an agent, to compare compiled and plain code cheaply."""

from __future__ import annotations

from expectant.core.dispatch import unowned
from expectant.core.verbs import function, phase, reset, step, truncated


@function
def walk(domain, actions, rng, trace):
    """Take ``actions`` (n,); write reward, alive, phase and truncated into ``trace`` (n, 4)."""
    domain, actions = unowned(domain), unowned(actions)
    rng, trace = unowned(rng), unowned(trace)
    reset(domain, 0, rng)
    for n in range(actions.shape[0]):
        reward, alive = step(domain, actions[n], rng)
        trace[n, 0] = reward
        trace[n, 1] = alive
        trace[n, 2] = phase(domain)
        trace[n, 3] = 1.0 if truncated(domain) else 0.0
        if alive == 0.0 or truncated(domain):
            reset(domain, n, rng)
