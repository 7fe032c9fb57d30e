"""Step sizes as agents and models use them: checked, scaled, built, and what they hold."""

from __future__ import annotations

from expectant.parts import Agent, Site
from expectant.rules import Rule, at_least
from expectant.step_sizes.bounded import Bounded
from expectant.step_sizes.step_size import StepSize


def step_size() -> Rule[float | StepSize]:
    """What may stand where a step size is taken."""
    number = at_least(0.0)

    def convert(value: object) -> float | StepSize:
        return value if isinstance(value, StepSize) else number.convert(value)

    return Rule(f"{number.text}, or ex.IDBD, ex.Autostep, ex.Bounded or ex.Decaying", convert)


def adapts(step: float | StepSize) -> bool:
    """Whether it is a step size for every weight that adapts by itself."""
    return isinstance(step, StepSize) and step.adapts


def number_or_bounded(owner: str, argument: str, step: float | StepSize) -> None:
    """Refuse a step size that adapts."""
    if adapts(step):
        raise ValueError(
            f"{owner}: {argument} must be a number, ex.Bounded or ex.Decaying, got {step!r}"
        )


def as_used(agent: Agent, step: float | StepSize, site: Site) -> float | StepSize:
    """A step size as an agent's ``step_unit``, ``doubled_steps`` and ``bounded_step`` make it."""
    if not isinstance(step, StepSize):
        number = agent.scaled(step, site)
        return Bounded(number) if agent.bounded_step else number
    step = step.scaled(agent.scaled(1.0, site))
    return step.held() if agent.bounded_step else step


def step_part(agent: Agent, step: float | StepSize, site: Site, rows: int = 1) -> object:
    """What an agent's update of so many rows of weights moves by: a number, or a part."""
    used = as_used(agent, step, site)
    return used.build(site, rows) if isinstance(used, StepSize) else used


def columns_part(step: float | StepSize, site: Site) -> object:
    """What a linear model moves its columns by."""
    return step.build_columns(site) if isinstance(step, StepSize) else step


def listed_part(step: float | StepSize, site: Site) -> object:
    """What a sparse model moves its columns by."""
    return step.build_listed(site) if isinstance(step, StepSize) else step
