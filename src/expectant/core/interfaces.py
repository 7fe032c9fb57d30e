"""The seam of the package: what every domain, feature map, model, backup distribution and agent is.

A description of one's own derives from one of these; what it may say about itself is declared here,
with what holds if it says nothing. :class:`BuildContext` is what a part is built for.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from expectant.core.config import Config, is_all_builtin, parameter
from expectant.core.memory import zeros
from expectant.core.rules import at_least, between, either, number, one_of, whole

if TYPE_CHECKING:
    from expectant.domains.external import ObservationSpec
    from expectant.domains.finite import FiniteMDP

__all__ = [
    "Agent",
    "Backups",
    "BuildContext",
    "Buildable",
    "Domain",
    "Drawing",
    "Exit",
    "ExternalEnv",
    "Features",
    "Model",
    "Option",
    "ReferenceValues",
    "Shape",
    "Values",
    "build_checked_agent",
    "constant_weights",
    "model_fits_parameter",
    "smallest_int_type",
]


class Shape(NamedTuple):
    """The shape of a feature vector: size d, k active entries, whether they carry values.

    ``bias`` is the feature that is always one, −1 where there is none. ``remembers`` says that the
    vector depends on more than the present observation.
    """

    size: int
    active: int
    weighted: bool = False
    bias: int = -1
    remembers: bool = False


@dataclass(frozen=True)
class BuildContext:
    """What a model, a backup distribution or an agent is built for, in one run.

    ``rng`` is what is drawn from while it is built; a part that draws later without being given a
    generator keeps ``planning``, the run's stream for that. ``control`` (1,) is not zero once the
    run is to stop; work that takes long heeds it. ``promise`` is what an agent wants its model to
    promise of what was never tried, ``discount`` the agent's. Without ``learn_from_real_steps``
    the agent's values learn by planning alone.
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


class Exit(NamedTuple):
    """A place where episodes end, and what it pays in each phase (empty: nothing to tell)."""

    x: float
    y: float
    pays: tuple[float, ...]


class Drawing(NamedTuple):
    """How a domain is drawn: its states in a row, in the cells of a grid, or in a plane.

    ``names`` are those of the two axes, ``actions`` those of the actions. ``cells`` are the column
    and the row of every state of a grid, in the order of their numbers; without them numbered
    states are a row, and vectors of two components a plane. ``directions`` is where each action
    goes, across and down (in a plane up); None where actions have no direction. ``phases`` says in
    words what holds in each phase.
    """

    names: tuple[str, str]
    actions: tuple[str, ...]
    cells: tuple[tuple[int, int], ...] | None = None
    directions: tuple[tuple[float, float], ...] | None = None
    exits: tuple[Exit, ...] = ()
    phases: tuple[str, ...] = ("",)


class ReferenceValues(NamedTuple):
    """What is known of some states: ``observations`` (n, m), their ``values`` (n,) and by how much
    those may be off, one standard error each, ``errors`` (n,)."""

    observations: np.ndarray
    values: np.ndarray
    errors: np.ndarray


class ExternalEnv(Protocol):
    """The environment of one run: action indices in, observations into an array."""

    run: int
    episode: int
    steps_taken: int

    @property
    def env(self) -> object: ...

    def reset(self, received: np.ndarray) -> None:
        """Begin an episode."""

    def step(self, action: int, received: np.ndarray) -> tuple[float, bool, bool]:
        """(reward, terminated, truncated)."""

    def close(self) -> None: ...


def smallest_int_type(highest: int) -> type[np.signedinteger]:
    """The smallest whole numbers that reach as far."""
    kinds = (np.int8, np.int16, np.int32)
    return next((kind for kind in kinds if highest <= np.iinfo(kind).max), np.int64)


def constant_weights(shape: Shape, width: int, value: float, owner: str) -> np.ndarray:
    """Weights w (D,) with wᵀs = ``value`` in every state s."""
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


class Buildable(Config, abstract=True):
    """A description from which a part is built for every run.

    ``memory_advice`` says what makes it smaller, for the sentence that refuses what does not fit.
    """

    memory_advice: ClassVar[str] = "fewer features"

    def missing_method(self, method: str) -> NotImplementedError:
        """What is raised where a class does not define what its kind must have."""
        own = [name for name in vars(type(self)) if not name.startswith("_")]
        said = f"{type(self).__name__} must define {method}, see docs/own-parts.md"
        near = difflib.get_close_matches(method, own, n=1)
        return NotImplementedError(f"{said}; it has {near[0]}" if near else said)


class Domain(Buildable, abstract=True):
    """A world to act in, described.

    Its observations are either the numbers of its states (``states`` of them) or vectors whose
    components lie in ``bounds``. ``step_limit`` is how long its episodes may be, None: as the user
    says. It changes after every ``switch_every`` episodes, or after each of its ``phase_steps``,
    where it says so. A domain that is ``external`` runs in a world that compiled code cannot step
    through. Episodes of an ``endless`` one never end by themselves. ``drawing`` is how it is drawn,
    None: by the numbers of its states and actions.
    """

    memory_advice: ClassVar[str] = "fewer states"
    public: ClassVar[Sequence[str]] = ("actions", "bounds", "mdp", "phases", "states")
    external: ClassVar[bool] = False

    @property
    def display_name(self) -> str:
        """What people are told that something runs in."""
        return type(self).__name__

    @property
    def switch_every(self) -> int | None:
        return None

    @property
    def phase_steps(self) -> Sequence[int]:
        return ()

    @property
    def endless(self) -> bool:
        return False

    def mdp(self) -> FiniteMDP | None:
        """The finite MDP that it is; None where it is none, or none that is known."""
        return None

    def reference_values(self, discount: float) -> ReferenceValues | None:
        """What some states are worth, to hold learned values against; None where none is known."""
        return None

    def sampling_error(self, samples: np.ndarray) -> np.ndarray | None:
        """What means of so many ``samples`` are off by, squared and on average; None: not known."""
        return None

    def for_run(self, number: int) -> Domain:
        """The domain of one run: itself, unless every run has one of its own.

        Those must be of one size, and built of parts of one type.
        """
        return self

    def prepare_evaluation(self, part: Any, phase: int) -> None:
        """Make a copy of its part one in which agents are judged: in one phase for ever.

        Episodes begin as that is done in the domain's test, if it has one.
        """
        if self.phase_steps or self.switch_every is not None:
            raise ValueError(
                f"{type(self).__name__}: has phases, and does not say how agents are judged in one "
                "of them by episodes (prepare_evaluation)"
            )

    def make_env(self, seed: int, run: int) -> ExternalEnv:
        """The world of one run, where the domain is outside compiled code."""
        raise NotImplementedError

    @property
    def actions(self) -> int:
        raise self.missing_method("actions")

    @property
    def states(self) -> int | None:
        return None

    @property
    def counts(self) -> Sequence[int]:
        """How many values each component has that the number of a state is made of, if several."""
        return ()

    @property
    def phases(self) -> int:
        """How many phases it has that take turns."""
        return 1

    @property
    def observation_spec(self) -> ObservationSpec | None:
        """How observations of a world outside are read, ``ObservationSpec``; None of one inside."""
        return None

    @property
    def bounds(self) -> tuple[tuple[float, float], ...] | None:
        """(low, high) of every component of an observation; None where states are numbered."""
        return None

    @property
    def step_limit(self) -> int | None:
        return None

    @property
    def drawing(self) -> Drawing | None:
        return None

    def build(self, rng: np.random.Generator) -> object:
        """The part that compiled code steps through, made for one run."""
        raise self.missing_method("build")


class Features(Buildable, abstract=True):
    """A state-update function u, described."""

    def shape(self, domain: Domain) -> Shape:
        """The shape of its feature vectors on a domain."""
        raise self.missing_method("shape")

    def build(self, domain: Domain, rng: np.random.Generator) -> object:
        """The part that compiled code encodes with, made for one run."""
        raise self.missing_method("build")


class Model(Buildable, abstract=True):
    """A model of the world, described.

    ``predicts_means`` says that it knows only the mean of the next state, which the theory allows
    for state values but not for action values. ``imagines`` says what it can lead a rollout to:
    "states", their "means", or nothing. ``linear`` says that it is linear in the features, so that
    one can plan from single features, and ``several_steps`` that it learns from real steps in a row
    only.
    """

    predicts_means: ClassVar[bool] = False
    rolls_out: ClassVar[str] = ""
    linear: ClassVar[bool] = False
    several_steps: ClassVar[bool] = False

    @property
    def learns(self) -> bool:
        """True if it is learned from transitions; a given model has nothing to fit."""
        return True

    def build(self, context: BuildContext) -> object:
        """Build the part that compiled code plans with, for one run."""
        raise self.missing_method("build")

    def bind(self, part: object, weights: np.ndarray, discount: float) -> object:
        """Tell the part which weights (D,) the agent looks ahead with; most models ignore it."""
        return part


def model_fits_parameter() -> Any:
    """The parameter ``model_fits`` of backup distributions that store transitions."""
    return parameter(
        either(whole(0), one_of("planning_steps")),
        default=2,
        kw_only=True,
        meaning="fits of a learned model to stored transitions, after every real step",
    )


class Backups(Buildable, abstract=True):
    """A backup distribution, described.

    ``stores_transitions`` says that every draw is a stored transition, whose action, reward and
    next state the verbs ``stored`` and ``load_successor`` give back; ``draws_actions`` that a draw
    means its action too, where one action's value is backed up; ``knows_places`` that the states it
    draws carry the number of the environment's own state, for exact models. ``draws_features`` says
    that what it draws are single features, which needs a linear model, and ``traces_back`` that it
    asks the model which features lead to one.
    """

    stores_transitions: ClassVar[bool] = False
    draws_actions: ClassVar[bool] = False
    knows_state_index: ClassVar[bool] = True
    draws_features: ClassVar[bool] = False
    traces_back: ClassVar[bool] = False

    def build(self, context: BuildContext) -> object:
        """The part that compiled code draws from, made for one run."""
        raise self.missing_method("build")

    @property
    def fits(self) -> int | str:
        """Fits of the model to stored transitions in a step, or "planning_steps"."""
        return getattr(self, "model_fits", 0)

    def with_fits(self, fits: int | str) -> Backups:
        """Return the same distribution with another number of fits, if it has any."""
        return self.replace(model_fits=fits) if hasattr(self, "model_fits") else self

    def build_with(self, context: BuildContext, model: object) -> object:
        """Build the part, given that of the model that is planned with."""
        return self.build(context)

    def drawn_shape(self, context: BuildContext) -> Shape:
        """The shape of the vectors that it draws."""
        return Shape(context.shape.size, 1) if self.draws_features else context.shape


class Values(Buildable, abstract=True):
    """State values v̂ that are not linear in the features, described.

    Its part stands where agents have weights (D,), and has the verbs ``outlook``, v̂(s),
    ``correct``, a step along its gradient, and ``displacement``, how far that has moved v̂(s).
    v̂ of a vector of zeros, which stands for the end, must be 0.
    """

    def build(self, context: BuildContext) -> object:
        """The part that compiled code values states with, made for one run."""
        raise self.missing_method("build")


class Option(Buildable, abstract=True):
    """A course of action, described: what is done in each state, and where it stops.

    Its part has the verbs ``policy``, π_o(a | s), and ``stop``, β_o(s).
    """

    @property
    def only_action(self) -> int:
        """The action that it is, if it takes that one everywhere and stops at once; else −1."""
        return -1

    @property
    def learns(self) -> bool:
        """Whether its policy is learned from transitions; a given one stays as it is."""
        return False

    @classmethod
    def build_together(cls, options: Sequence[Self], context: BuildContext) -> object:
        """One part for several of this kind, found by their numbers; None: each has its own."""
        return None

    def build(self, context: BuildContext) -> object:
        """The part that compiled code follows, made for one run."""
        raise self.missing_method("build")


class Agent(Buildable, abstract=True):
    """An agent, described; ``algorithm`` is its name in the paper."""

    algorithm: ClassVar[str] = ""
    epsilon: float = parameter(
        between(0, 1),
        default=0.1,
        kw_only=True,
        meaning="probability of a random action, which may be the greedy one",
    )
    discount: float = parameter(
        between(0, 1), default=0.99, kw_only=True, meaning="γ, the discount factor"
    )
    initial_value: float = parameter(
        number(),
        default=0.0,
        kw_only=True,
        meaning="initial value of every state and action; a high one makes the agent explore",
    )
    centering: float = parameter(
        at_least(0),
        default=0.0,
        kw_only=True,
        meaning="η, the step size of the average reward relative to that of the values; 0: off",
    )

    @classmethod
    def title(cls) -> str:
        """The name for people: "Lookahead (Algorithm 1)"."""
        number = vars(cls).get("algorithm")  # not that of a base class
        return f"{cls.__name__} ({number})" if number else cls.__name__

    def build(self, context: BuildContext) -> object:
        """The part that compiled code runs, made for one run."""
        raise self.missing_method("build")

    def augmented_actions(self, context: BuildContext) -> BuildContext:
        """The site that it chooses at: where it has options, they count as further actions."""
        return context

    def build_agent(self, context: BuildContext) -> object:
        """The part that a run works with: the agent's own, and what carries out its choices."""
        return self.build(context)

    def state_weights(self, context: BuildContext) -> np.ndarray:
        """Weights (D,) that give every state its initial value."""
        owner = f"{type(self).__name__}: initial_value"
        return constant_weights(context.shape, context.width, self.initial_value, owner)

    def action_weights(self, context: BuildContext) -> np.ndarray:
        """Weights (A, D) that give every action its initial value."""
        return np.repeat(self.state_weights(context)[None], context.actions, axis=0)


def build_checked_agent(agent: Agent, context: BuildContext) -> object:
    """Equip an agent; refuse a parameter that a user's own agent inherits and never reads."""
    if is_all_builtin(agent):
        return agent.build_agent(context)
    cls: Any = type(agent)
    read: set[str] = set()

    def record(self: object, name: str) -> Any:
        read.add(name)
        return object.__getattribute__(self, name)

    twin = object.__new__(
        type(cls)(cls.__name__, (cls,), {"__getattribute__": record}, abstract=True)
    )
    twin.__dict__.update(vars(agent))
    part = twin.build_agent(context)
    for field in dataclasses.fields(cls):
        value = getattr(agent, field.name)
        inherited = field.name not in vars(cls).get("__annotations__", {})
        if inherited and field.name not in read and value != field.default:
            raise ValueError(
                f"{cls.__name__}: {field.name}={value!r} has no effect, because "
                f"{cls.__name__} inherits the parameter and never reads it"
            )
    return part
