"""Base classes of components: Domain, Features, Model, Backups, Agent, Option and Values.

A component is a config, derived from one of these classes, and a part, a ``NamedTuple`` that
``build`` returns and whose verbs (:mod:`expectant.core.verbs`) compiled code calls. A base class
declares the methods that a component must define first; those with a default are optional.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from expectant.core.config import Config, parameter
from expectant.core.memory import zeros
from expectant.core.rules import at_least, between, either, number, one_of, whole

if TYPE_CHECKING:
    from expectant.domains.external import ObservationSpec
    from expectant.domains.finite import FiniteMDP
    from expectant.domains.gym import GymRun

__all__ = [
    "Agent", "Backups", "BuildContext", "Buildable", "Domain", "Drawing", "Exit",
    "Features", "Model", "Option", "ReferenceValues", "Shape", "Values", "constant_weights",
    "model_fits_parameter", "smallest_int_type",
]  # fmt: skip


class Shape(NamedTuple):
    """Shape of a feature vector: ``size`` d, ``active`` entries k, and their kind.

    Entries have values if ``weighted``, else they are ones. ``bias`` is the index of a feature that
    is always one, or −1. ``remembers`` is True if the vector depends on earlier observations.
    """

    size: int
    active: int
    weighted: bool = False
    bias: int = -1
    remembers: bool = False


@dataclass(frozen=True)
class BuildContext:
    """Everything about a run that the parts of a model, backup distribution or agent depend on.

    Weights have ``width`` D columns and ``actions`` A rows. ``rng`` is for draws in ``build``; a
    part that draws later keeps ``planning``. Long work in Python stops once ``control`` (1,) is not
    zero. ``untried_value`` is the initial value that the model assigns to untried actions. Without
    ``learn_from_real_steps`` the agent learns values by planning alone.
    """

    shape: Shape
    width: int
    actions: int
    domain: Domain
    domain_part: object
    features_part: object
    rng: np.random.Generator
    planning: np.random.Generator
    control: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(1, np.int64))
    untried_value: float = 0.0
    discount: float = 1.0
    learn_from_real_steps: bool = True


class Buildable(Config, abstract=True):
    """A config from which a part is built for every run.

    ``memory_advice`` completes the error message "use …" if the part does not fit into memory.
    """

    memory_advice: ClassVar[str] = "fewer features"

    def missing_method(self, method: str) -> NotImplementedError:
        """Return the error for a class that does not define a required method."""
        names = [name for name in vars(type(self)) if not name.startswith("_")]
        message = f"{type(self).__name__} must define {method}, see docs/own-parts.md"
        near = difflib.get_close_matches(method, names, n=1)
        return NotImplementedError(f"{message}; it has {near[0]}" if near else message)


# ----------------------------------------------------------------------------------- domains


class Exit(NamedTuple):
    """A drawn place where episodes end, and its reward in each phase (empty: not shown)."""

    x: float
    y: float
    pays: tuple[float, ...]


class Drawing(NamedTuple):
    """Layout of a domain in figures: states in a row, in the cells of a grid, or in a plane.

    ``names`` label the axes, ``actions`` the actions, ``phases`` the phases. ``cells`` has column
    and row of every state of a grid; without it numbered states form a row and two-dimensional
    observations a plane. ``directions`` has the (x, y) arrow of every action, y downwards on a grid
    and upwards in a plane; None if actions have no direction.
    """

    names: tuple[str, str]
    actions: tuple[str, ...]
    cells: tuple[tuple[int, int], ...] | None = None
    directions: tuple[tuple[float, float], ...] | None = None
    exits: tuple[Exit, ...] = ()
    phases: tuple[str, ...] = ("",)


class ReferenceValues(NamedTuple):
    """True values of some states: ``observations`` (n, m), ``values`` (n,), standard ``errors``."""

    observations: np.ndarray
    values: np.ndarray
    errors: np.ndarray


class Domain(Buildable, abstract=True):
    """An environment.

    Define ``actions``, ``build``, and either ``states`` (observations are state indices) or
    ``bounds`` (observations are vectors). The part implements ``reset``, ``step`` and
    ``observation``; docs/own-parts.md has an example.
    """

    memory_advice: ClassVar[str] = "fewer states"
    public: ClassVar[Sequence[str]] = ("actions", "bounds", "mdp", "phases", "states")
    external: ClassVar[bool] = False  # True: compiled code cannot step it, see make_env

    @property
    def actions(self) -> int:
        """Number of actions."""
        raise self.missing_method("actions")

    @property
    def states(self) -> int | None:
        """Number of states; None if observations are vectors."""
        return None

    @property
    def bounds(self) -> tuple[tuple[float, float], ...] | None:
        """(low, high) of every component of an observation; None if states are numbered."""
        return None

    def build(self, rng: np.random.Generator) -> object:
        """Build the part that compiled code steps through, for one run."""
        raise self.missing_method("build")

    @property
    def step_limit(self) -> int | None:
        """Steps after which an episode is truncated; None: as passed to ``run``."""
        return None

    @property
    def endless(self) -> bool:
        """True if episodes never terminate."""
        return False

    @property
    def counts(self) -> Sequence[int]:
        """Number of values of each component that a state index is composed of, if several."""
        return ()

    @property
    def phases(self) -> int:
        """Number of phases that alternate."""
        return 1

    @property
    def switch_every(self) -> int | None:
        """Episodes after which the phase changes."""
        return None

    @property
    def phase_steps(self) -> Sequence[int]:
        """Steps after which each phase ends, as an alternative to ``switch_every``."""
        return ()

    @property
    def display_name(self) -> str:
        """Name in messages and figures."""
        return type(self).__name__

    @property
    def sketch(self) -> Drawing | None:
        """Layout in figures; None: by state and action indices."""
        return None

    def mdp(self) -> FiniteMDP | None:
        """Return the equivalent finite MDP, if there is one."""
        return None

    def reference_values(self, discount: float) -> ReferenceValues | None:
        """Return true values of some states to compare learned values with, if known."""
        return None

    def sampling_error(self, samples: np.ndarray) -> np.ndarray | None:
        """Return the mean squared error of averages of so many ``samples``, if known."""
        return None

    def for_run(self, number: int) -> Domain:
        """Return the domain of one run, if runs differ; sizes and part types must be the same."""
        return self

    def prepare_evaluation(self, part: Any, phase: int) -> None:
        """Change a copy of the part so that it stays in one phase, with the starts of tests."""
        if self.phase_steps or self.switch_every is not None:
            raise ValueError(
                f"{type(self).__name__}: has phases, so evaluation by episodes needs the method "
                "prepare_evaluation"
            )

    def make_env(self, seed: int, run: int) -> GymRun:
        """Make the environment of one run of an external domain."""
        raise NotImplementedError

    @property
    def observation_spec(self) -> ObservationSpec | None:
        """Conversion of an external domain's observations."""
        return None


# ---------------------------------------------------------------------------------- features


class Features(Buildable, abstract=True):
    """A feature map, or state-update function u; its part implements ``encode``."""

    def shape(self, domain: Domain) -> Shape:
        """Return the shape of the feature vectors on a domain."""
        raise self.missing_method("shape")

    def build(self, domain: Domain, rng: np.random.Generator) -> object:
        """Build the part that compiled code encodes with, for one run."""
        raise self.missing_method("build")


def smallest_int_type(highest: int) -> type[np.signedinteger]:
    """Return the smallest integer type that can hold ``highest``."""
    types = (np.int8, np.int16, np.int32)
    return next((kind for kind in types if highest <= np.iinfo(kind).max), np.int64)


def constant_weights(shape: Shape, width: int, value: float, owner: str) -> np.ndarray:
    """Return weights w (D,) with wᵀs = ``value`` in every state s."""
    weights = zeros(width)
    if value == 0.0:
        return weights
    if shape.bias >= 0:
        weights[shape.bias] = value
    elif shape.weighted:
        raise ValueError(
            f"{owner}={value!r} needs features whose values add up to the same in every state: "
            "binary ones, or ones with a bias unit"
        )
    else:
        weights[: shape.size] = value / shape.active
    return weights


# -------------------------------------------------------------------- models, backups, values


class AgentComponent(Buildable, abstract=True):
    """A component of an agent, or an agent."""

    def build(self, context: BuildContext) -> object:
        """Build the part that compiled code works on, for one run."""
        raise self.missing_method("build")


class Model(AgentComponent, abstract=True):
    """A model of the environment; its part implements ``fit`` and ``backed_up_value``.

    Class attributes state its abilities; agents refuse a model that lacks one they need.
    """

    predicts_means: ClassVar[bool] = False  # only s̄ is known: not sound for action values
    rolls_out: ClassVar[str] = ""  # what sample_next writes: "states", "means", or "" if it cannot
    linear: ClassVar[bool] = False  # linear in the features: can plan from single features
    several_steps: ClassVar[bool] = False  # learns from consecutive real steps only, not by replay
    weighs_data: ClassVar[bool] = False  # fits all data at once, so none are replayed

    @property
    def learns(self) -> bool:
        """True if it is learned from transitions, False for exact models."""
        return True

    def for_shape(self, shape: Shape) -> Model:
        """Return the model to build for features of this shape: itself, unless it chooses."""
        return self

    def bind(self, part: object, weights: np.ndarray, discount: float) -> object:
        """Return the part with a reference to the value weights (D,), if it caches their values."""
        return part


class Backups(AgentComponent, abstract=True):
    """A backup distribution: the states to plan from. Its part implements ``remember``, ``draw``.

    Class attributes state its abilities; agents refuse a distribution that lacks one they need.
    """

    short_name: ClassVar[str] = ""  # in the parameter ``backups`` of agents
    stores_transitions: ClassVar[bool] = False  # draws have stored_transition and load_successor
    draws_actions: ClassVar[bool] = False  # a draw is a pair: only its action is backed up
    knows_state_index: ClassVar[bool] = True  # drawn states carry state indices, for exact models
    draws_features: ClassVar[bool] = False  # draws single features, which needs a linear model
    traces_back: ClassVar[bool] = False  # calls the model's verb predecessor

    @classmethod
    def of_capacity(cls, capacity: int | None) -> Backups:
        """Make the distribution that agents know by name; ``capacity`` is that of a replay."""
        return cls()

    def build_with(self, context: BuildContext, model: object) -> object:
        """Build the part, given the part of the model that is planned with."""
        return self.build(context)

    @property
    def fits(self) -> int | str:
        """Fits of the model to stored transitions in a step, or "planning_steps"."""
        return getattr(self, "model_fits", 0)

    def with_fits(self, fits: int | str) -> Backups:
        """Return the same distribution with another number of fits, if it has any."""
        return self.replace(model_fits=fits) if hasattr(self, "model_fits") else self

    def drawn_shape(self, context: BuildContext) -> Shape:
        """Return the shape of the vectors that it draws."""
        return Shape(context.shape.size, 1) if self.draws_features else context.shape


def model_fits_parameter() -> Any:
    """Declare the parameter ``model_fits`` of backup distributions that store transitions."""
    return parameter(
        either(whole(0), one_of("planning_steps")),
        default=2,
        kw_only=True,
        meaning="fits of a learned model to stored transitions, after every real step",
    )


class Values(AgentComponent, abstract=True):
    """State values v̂ that are not linear in the features, to use in the place of weights (D,).

    The part implements ``state_value``, v̂(s), ``correct``, a step along its gradient, and
    ``displacement``, the change of v̂(s) by that step. v̂ of a vector of zeros, which stands for the
    terminal state, must be 0.
    """


# --------------------------------------------------------------------------- options, agents


class Option(AgentComponent, abstract=True):
    """An option; its part implements ``policy``, π_o(a | s), and ``stop``, β_o(s)."""

    @property
    def learns(self) -> bool:
        """True if its policy is learned from transitions."""
        return False

    @classmethod
    def build_together(cls, options: Sequence[Self], context: BuildContext) -> object:
        """Build one part for several options of this class; None: each has its own."""
        return None

    def build(self, context: BuildContext) -> object:
        part = self.build_together([self], context)
        return super().build(context) if part is None else part


class Agent(AgentComponent, abstract=True):
    """An agent; its part implements ``act``, ``learn`` and ``preference``.

    ``build`` usually takes initial weights from ``state_weights`` or ``action_weights``, so that
    the parameter ``initial_value`` has an effect. ``algorithm`` is the agent's name in the paper.
    """

    algorithm: ClassVar[str] = ""
    epsilon: float = parameter(between(0, 1), default=0.1, kw_only=True)
    discount: float = parameter(between(0, 1), default=0.98, kw_only=True)
    initial_value: float = parameter(number(), default=0.0, kw_only=True)
    centering: float = parameter(at_least(0), default=0.0, kw_only=True)

    def state_weights(self, context: BuildContext) -> np.ndarray:
        """Return weights (D,) that give every state its initial value."""
        owner = f"{type(self).__name__}: initial_value"
        return constant_weights(context.shape, context.width, self.initial_value, owner)

    def action_weights(self, context: BuildContext) -> np.ndarray:
        """Return weights (A, D) that give every action its initial value."""
        return np.repeat(self.state_weights(context)[None], context.actions, axis=0)

    def build_agent(self, context: BuildContext) -> object:
        """Build the part of a run: the agent's own, or one around it that executes options."""
        return self.build(context)

    @classmethod
    def title(cls) -> str:
        """Return the name for figures, such as "Lookahead (Algorithm 1)"."""
        number = vars(cls).get("algorithm")  # not that of a base class
        return f"{cls.__name__} ({number})" if number else cls.__name__
