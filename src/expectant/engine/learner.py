"""``ex.Learner``: an agent for the user's own loop; observations and rewards in, actions out."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from expectant.core.interfaces import Agent, Features
from expectant.core.memory import ALWAYS_FREE, refuse_large
from expectant.core.rng import SEED, TIES, generator
from expectant.core.rules import flag, or_none, whole
from expectant.domains.external import (
    LIMITS,
    ExternalDomain,
    GymEnvironment,
    ObservationSpec,
    action_count,
    check_reward,
    check_single_env,
    numbered_states,
    observation_spec,
)
from expectant.engine import learner_file, loop
from expectant.engine.divergence import explain_divergence
from expectant.engine.driver import request_action
from expectant.engine.loop import FIRST, GOES_ON, TERMINATED, Run
from expectant.engine.probe import States, Subject, copy_subject, load_probe, probe_agent
from expectant.engine.progress import Reporter, make_reporter
from expectant.engine.result import Result
from expectant.engine.run import check_part
from expectant.engine.setup import Setup, load_loop
from expectant.jit.compile import Kernel, use_compiled

WHILE_BUILDING = 4  # times the arrays of a file: more than any learner needs while it is built
BETWEEN_EPISODES = -1  # where the last action stands otherwise


class Learner:
    """An agent that learns in the user's own loop.

    >>> learner = Learner(agent, features, n_actions=2, states=9)
    >>> action = learner.start(observation)
    >>> action = learner.step(reward, observation, terminated, truncated)

    Observations are numbers below ``states``, or vectors; ``bounds`` has (low, high) of every
    component of a vector, for features that do not have bounds of their own. The same seed and
    the same observations give the same actions, before and after ``save`` and ``load``.
    """

    def __init__(
        self,
        agent: Agent,
        features: Features,
        n_actions: int,
        *,
        states: int | None = None,
        bounds: Sequence[tuple[float, float]] | None = None,
        seed: int = 0,
        compiled: bool | None = None,
        progress: bool | Reporter = True,
    ) -> None:
        for rule, name, value in (
            (whole(1), "n_actions", n_actions), (SEED, "seed", seed),
            (or_none(flag()), "compiled", compiled), (or_none(whole(1)), "states", states),
        ):  # fmt: skip
            rule.check("Learner", name, value)
        check_part("Learner", "agent", agent, Agent)
        check_part("Learner", "features", features, Features)
        if states is not None and bounds is not None:
            raise ValueError(
                f"Learner: observations are numbers (states={states!r}) or vectors "
                f"(bounds={bounds!r}), not both"
            )
        self.agent = agent
        self.features = features
        self.n_actions = n_actions
        self.seed = seed
        limits = or_none(LIMITS).check("Learner", "bounds", bounds)
        self.observation_spec = (
            ObservationSpec(bounds=limits) if states is None else numbered_states(states)
        )
        self._compiled = use_compiled(compiled)
        self._show = make_reporter(progress)
        self._name = f"{type(agent).__name__} in a loop of your own"
        self._action = BETWEEN_EPISODES
        self._run: Run | None = None
        self._probe: Kernel | None = None
        self._subject: Subject | None = None  # a copy of what it knows at present, to be asked

    def __repr__(self) -> str:
        episode = "between episodes" if self._action == BETWEEN_EPISODES else "in an episode"
        return (
            f"Learner({self.agent!r}, {self.features!r}, n_actions={self.n_actions}, "
            f"seed={self.seed}; {'nothing learned yet' if self._run is None else episode})"
        )

    @classmethod
    def for_env(
        cls,
        agent: Agent,
        features: Features,
        env: GymEnvironment,
        *,
        numbered: bool | None = None,
        seed: int = 0,
        compiled: bool | None = None,
        progress: bool | Reporter = True,
    ) -> Learner:
        """Make a learner for the spaces of a Gymnasium environment."""
        if not hasattr(env, "action_space"):
            raise ValueError(f"Learner.for_env: env must be an environment, got {env!r}")
        check_single_env(env, "Learner.for_env")
        learner = cls(
            agent, features, action_count(env.action_space, "Learner"), seed=seed,
            compiled=compiled, progress=progress,
        )  # fmt: skip
        learner.observation_spec = observation_spec(env.observation_space, numbered, "Learner")
        return learner

    def start(self, observation: ArrayLike) -> int:
        """Begin an episode; return the first action."""
        return self._answer(observation, BETWEEN_EPISODES, 0.0, FIRST)

    def step(
        self, reward: float, observation: ArrayLike, terminated: bool, truncated: bool = False
    ) -> int | None:
        """Learn from the last action's outcome; return the next action, None at an episode's end.

        A truncated episode has not terminated: the agent bootstraps from its last observation.
        """
        if self._action == BETWEEN_EPISODES:
            raise ValueError("Learner.step: no episode has begun; call start(observation) first")
        for name, given in (("terminated", terminated), ("truncated", truncated)):
            if not isinstance(given, bool | np.bool_):
                raise ValueError(f"Learner.step: {name} must be True or False, got {given!r}")
        situation = TERMINATED if terminated else loop.TRUNCATED if truncated else GOES_ON
        answer = self._answer(observation, self._action, check_reward(reward), situation)
        return answer if situation == GOES_ON else None

    def predict(self, observation: ArrayLike) -> int:
        """Return the greedy action, without learning or exploring; ties are broken at random.

        Features with memory take the observation as the one that follows the last.
        """
        preferences = self.preferences(observation)
        if np.isnan(preferences).any():
            raise FloatingPointError("Learner.predict: the agent's weights have overflowed")
        return int(self._ties.choice(np.flatnonzero(preferences == preferences.max())))

    def preferences(self, observation: ArrayLike) -> np.ndarray:
        """Return action values (A,), or the policy's preferences (Algorithm 3).

        Nothing is learned, and features with memory do not remember the observation.
        """
        run = self._run_for(observation)
        self._receive(run, observation)
        self._subject = copy_subject(run, self._subject)
        states, asked = States(run.domain.received.reshape(1, -1), np.full(1, -1)), ("preferences",)
        if self._probe is None:
            self._probe = load_probe(self._subject, states, self._compiled, self._name, self._show)
        answers = probe_agent(self._probe, self._subject, states, asked, action=self._action)
        return answers.preferences[0]

    @property
    def reward_rate(self) -> float:
        """R̄, the mean reward of a step, as estimated by the agent's ``centering``."""
        centering = getattr(self._run and self._run.agent, "centering", None)
        if self._run is not None and centering is None:
            raise ValueError(f"reward_rate: {type(self.agent).__name__} does not estimate any")
        return float(centering.rate[0]) if centering is not None else 0.0

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file, from which ``load`` continues with the same bits."""
        if self._run is None:
            raise ValueError("Learner.save: it has not started yet, so there is nothing to save")
        facts = {
            "agent": self.agent.to_dict(),
            "features": self.features.to_dict(),
            "n_actions": self.n_actions,
            "seed": self.seed,
            "observation_spec": self.observation_spec._asdict(),
            "components": self._run.domain.received.size,
            "action": self._action,
            "streams": learner_file.states_of(self._streams),
            "ties": self._ties.bit_generator.state,
        }
        learner_file.write(Path(path), facts, self._run)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        trust: bool = False,
        compiled: bool | None = None,
        progress: bool | Reporter = True,
    ) -> Learner:
        """Load a learner from a file.

        User-defined components that the file names are imported, which runs their modules, only
        with ``trust=True``, unless this process has imported them already. Compiled code does not
        check indices in a file: load one from a stranger with ``compiled=False``.
        """
        path = Path(path)
        facts, arrays = learner_file.read(path)
        try:
            agent = Agent.from_dict(facts["agent"], trust=trust)
            features = Features.from_dict(facts["features"], trust=trust)
            learner = cls(
                agent, features, facts["n_actions"], seed=facts["seed"], compiled=compiled,
                progress=progress,
            )  # fmt: skip
            learner.observation_spec = _observation_spec_from(facts["observation_spec"])
            components = facts["components"]
            held = sum(array.nbytes for array in arrays.values())
            with refuse_large("Learner.load", ALWAYS_FREE + WHILE_BUILDING * held):
                built, streams = learner._setup(components).build(0)
            run, ties = learner_file.restore(built, arrays), generator(0, 0)
            learner_file.set_states(streams, facts["streams"])
            ties.bit_generator.state = facts["ties"]
            action = whole(BETWEEN_EPISODES, learner.n_actions - 1).check(
                "Learner.load", "action", facts["action"]
            )
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        except (
            KeyError, TypeError, AttributeError, OverflowError, RecursionError, MemoryError
        ) as error:  # fmt: skip
            raise ValueError(f"{path}: is not a saved learner: {error!r}") from None
        learner._prepare(components)
        learner._run, learner._streams, learner._ties = run, streams, ties
        learner._action = action
        return learner

    @classmethod
    def from_result(
        cls,
        result: Result,
        run: int = 0,
        *,
        compiled: bool | None = None,
        progress: bool | Reporter = True,
    ) -> Learner:
        """Make a learner from a copy of a run of ``ex.run(..., keep_agents=True)``."""
        if not 0 <= run < len(result.kept):
            raise ValueError(
                f"Learner.from_result: run must be below {len(result.kept)}, got {run!r}"
                + ("" if result.kept else "; ex.run keeps what it learned with keep_agents=True")
            )
        domain, (kept, streams) = result.domain, result.kept[run]
        agent_part, features_part, streams = copy.deepcopy((kept.agent, kept.features, streams))
        learner = cls(
            result.agent, result.features, domain.actions, states=domain.states,
            bounds=domain.bounds, seed=result.seed, compiled=compiled, progress=progress,
        )  # fmt: skip
        if isinstance(domain.observation_spec, ObservationSpec):
            learner.observation_spec = domain.observation_spec
        learner._prepare(learner.observation_spec.buffer().size)
        assert learner._run is not None
        learner._run = learner._run._replace(agent=agent_part, features=features_part)
        learner._streams = streams
        return learner

    # ------------------------------------------------------------------------------- inside

    def _answer(self, observation: ArrayLike, action: int, reward: float, situation: int) -> int:
        run, self._subject = self._run_for(observation), None
        if situation != TERMINATED:  # the end has no features
            self._receive(run, observation)
        self._run, answer = request_action(
            self._respond, run, action, reward, situation, self._streams
        )
        if answer == loop.OVERFLOW:
            why = explain_divergence(self._run, loop.DIVERGED, self.agent, "a loop of your own")
            raise FloatingPointError(f"Learner: {why}")
        self._action = answer if situation in (FIRST, GOES_ON) else BETWEEN_EPISODES
        return answer

    def _receive(self, run: Run, observation: ArrayLike) -> None:
        """Copy an observation to where compiled code reads it."""
        received = run.domain.received
        try:
            self.observation_spec.convert(observation, received)
        except TypeError:
            kind = (
                "a state's number" if self.observation_spec.states else f"{received.size} numbers"
            )
            raise ValueError(f"observation: must be {kind}, got {observation!r}") from None
        if loop.nonfinite_component(received) >= 0:
            raise ValueError(f"observation: must have finite components, got {observation!r}")

    def _run_for(self, observation: ArrayLike) -> Run:
        """Return the run, built when the first observation shows its number of components."""
        if self._run is None:
            components, bounds = np.size(observation), self.observation_spec.bounds
            if bounds is not None and len(bounds) != components:
                raise ValueError(
                    f"observation: must have {len(bounds)} components, as bounds has, "
                    f"got {observation!r}"
                )
            self._prepare(1 if self.observation_spec.states is not None else components)
        assert self._run is not None
        return self._run

    def _setup(self, components: int) -> Setup:
        domain = ExternalDomain(
            self.n_actions, self.observation_spec.states, self.observation_spec.bounds, components
        )
        return Setup(domain, self.features, self.agent, seed=self.seed)

    def _prepare(self, components: int) -> None:
        setup = self._setup(components)
        self._respond = load_loop(setup, self._compiled, self._name, self._show)
        self._run, self._streams = setup.build(0)
        self._ties = generator(self.seed, 0, TIES)


def _observation_spec_from(facts: dict[str, Any]) -> ObservationSpec:
    """Return how observations are read, from the settings in a file."""
    bounds = or_none(LIMITS).check("Learner.load", "bounds", facts["bounds"])
    counts, starts = tuple(facts["counts"]), tuple(facts["starts"])
    observation_spec = ObservationSpec(facts["states"], bounds, counts, starts)
    if len(counts) != len(starts) or (counts and math.prod(counts) != observation_spec.states):
        raise ValueError(f"states, counts and starts must agree, got {facts!r}")
    return observation_spec
