"""The step sizes that an agent is tried with: its own, and all others of a grid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

GRID = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
COARSE = (0.001, 0.01, 0.03, 0.1, 0.3)  # for agents of three step sizes, which are many settings
LARGEST = 1.0  # of any step
APART = 1.5  # values of a grid that are closer than this factor tell nothing new
POLICY = "policy_step"
NAMES = ("value_step", "action_step", POLICY)
SIGNS = {"value_step": "α_w", "action_step": "α_q", POLICY: "α_θ", "model_step": "α_m"}

Steps = dict[str, float]


def settings_from(agent: Any, ones: int = 1) -> Iterator[Steps]:
    """The agent's own step sizes, and then all others of a grid, for features of so many ones."""
    names = [name for name in NAMES if hasattr(agent, name)]
    if getattr(agent, "model", None) == "expectation":
        names.append("model_step")
    own = {name: float(getattr(agent, name)) for name in names}
    yield own
    grid = COARSE if len(names) > 2 else GRID
    tried = [(*grid, *_beyond(grid, whole_error(name, agent, ones))) for name in names]
    for values in product(*tried):
        found = dict(zip(names, values, strict=True))
        if found != own:
            yield found


def whole_error(name: str, agent: Any, ones: int) -> float:
    """The step that removes an error at once; a longer one overshoots. The policy's has no such."""
    if name == POLICY:
        return LARGEST
    return LARGEST / (ones * (2 if getattr(agent, "doubled_steps", False) else 1))


def _beyond(grid: Sequence[float], largest: float) -> tuple[float, ...]:
    """The largest step that can be of use, unless the grid reaches about as far."""
    return (largest,) if largest > APART * grid[-1] else ()


def at_edge(best: Steps, settings: Sequence[Steps], agent: Any, ones: int) -> list[str]:
    """The steps beyond which there may be better ones: at an end of what was tried.

    Above the step that removes an error at once there are none, but for a policy's.
    """
    found = []
    for name, value in best.items():
        tried = [setting[name] for setting in settings]
        overshoots = name != POLICY and APART * value > whole_error(name, agent, ones)
        if value == min(tried) or (value == max(tried) and not overshoots):
            found.append(name)
    return found


def steps_in_words(steps: Mapping[str, float]) -> str:
    """Step sizes in a few words, such as "α_w 0.01, α_m 0.1"."""
    return ", ".join(f"{SIGNS[name]} {value:g}" for name, value in steps.items())
