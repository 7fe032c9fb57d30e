"""Gymnasium's environments as domains, and its tables of transitions as finite MDPs."""

from __future__ import annotations

import copy
import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np

from expectant.core.config import allow_local_imports, parameter
from expectant.core.errors import EnvError, describe_error, require_extra, user_location
from expectant.core.interfaces import Domain
from expectant.core.rng import ENVIRONMENT, seed_sequence
from expectant.core.rules import Rule, flag, or_none
from expectant.domains.external import (
    ExternalPart,
    GymEnvironment,
    GymSource,
    ObservationSpec,
    action_count,
    check_single_env,
    finite_reward,
    observation_spec,
)


def as_domain(domain: Domain | GymSource) -> Domain:
    """A domain as it is, a Gymnasium id or environment as ``Gym``; the rest is refused later."""
    if isinstance(domain, str) or _is_made(domain):
        return Gym(domain)
    return domain  # type: ignore[return-value]


def _is_made(environment: object) -> TypeGuard[GymEnvironment]:
    """Whether it is an environment, and not a name or a function or class that makes one."""
    return hasattr(environment, "reset") and not isinstance(environment, type)


def _module_of(environment: object) -> str | None:
    """The module that Gymnasium imports for an id such as "module:Env-v0"."""
    if not isinstance(environment, str) or ":" not in environment:
        return None
    return environment.partition(":")[0]


def _class_at(environment: str) -> Callable[..., GymEnvironment] | None:
    """What makes an environment at "module:Class"; None where it is an id in that module."""
    module, _, name = environment.partition(":")
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise ValueError(f"Gym: cannot import {module!r} of {environment!r}: {error}") from None
    return found if callable(found) else None


def _name_of(environment: Any) -> str | None:
    """An id, or "module:Class" of what can be found there; None of anything else."""
    if isinstance(environment, str):
        return environment
    module, name = getattr(environment, "__module__", ""), getattr(environment, "__qualname__", "")
    found = getattr(sys.modules.get(module), name, None)
    return f"{module}:{name}" if name and found is environment else None


def _source(value: object) -> GymSource:
    if isinstance(value, str) or callable(value) or _is_made(value):
        return value
    raise ValueError


def _by_name(value: Any) -> dict[str, object]:
    return dict(value)


EACH_RUN = ", such as the id it was made from; every run makes its own, on all cores"
_SOURCE = Rule("an environment's id, an environment, or a function that makes one", _source)
_OPTIONS = Rule("for gymnasium.make, each written as an option of its own", _by_name)
_NONE: Any = ()  # an empty table of options, which could be changed otherwise


class Gym(Domain):
    """A Gymnasium environment with numbered actions.

    ``environment`` is an id for ``gymnasium.make``, which gets all further options; where a class
    or function is that makes one, "module:Class", which gets them too; such a function itself; or
    an environment, which is copied for every run and left as it is.
    ``numbered`` says whether observations of whole numbers are numbers of states (for ``OneHot``
    and ``RandomBinary``) or vectors (for ``Tiles``); None: states, unless they are too many.
    """

    environment: GymSource = parameter(_SOURCE)
    numbered: bool | None = parameter(or_none(flag()), default=None)
    options: Mapping[str, object] = parameter(_OPTIONS, default=_NONE)

    def __init__(
        self, environment: GymSource, *, numbered: bool | None = None, **options: object
    ) -> None:
        object.__setattr__(self, "environment", environment)
        object.__setattr__(self, "numbered", numbered)
        object.__setattr__(self, "options", options)
        self.__post_init__()

    def validate(self) -> None:
        check_single_env(self.environment, "Gym", EACH_RUN)
        if self.options and _is_made(self.environment):
            raise ValueError(
                f"Gym: options are for making an environment, got {self.options} with one made"
            )

    def __hash__(self) -> int:
        return hash((str(self.environment), self.numbered, str(self.options)))

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"Gym({self.environment!r}{options})"

    @property
    def display_name(self) -> str:
        """The environment's id, or the name of its class or of what makes it."""
        given = self.environment
        if isinstance(given, str):
            return given.rpartition(":")[2]
        made = getattr(given, "unwrapped", given) if _is_made(given) else given
        return getattr(made, "__name__", type(made).__name__)

    def to_dict(self) -> dict[str, object]:
        """Plain data: an id, or where a class or function is that makes an environment."""
        return {"kind": self.kind, **self._arguments()}

    def _arguments(self) -> dict[str, object]:
        name = _name_of(self.environment)
        if name is None:
            raise ValueError(
                f"Gym: {self.environment!r} cannot be written down: give an id, or a class or "
                "function of a module or script ('module:Class')"
            )
        return {"environment": name, "numbered": self.numbered, **self.options}

    @classmethod
    def module_in(cls, data: dict[str, object]) -> str | None:
        return _module_of(data.get("environment"))

    def make(self) -> GymEnvironment:
        """A new environment, for one run."""
        return check_single_env(self._made(), "Gym", EACH_RUN)

    def _made(self) -> GymEnvironment:
        if _is_made(self.environment):
            try:
                return copy.deepcopy(self.environment)
            except Exception as error:  # whatever its parts raise
                raise ValueError(
                    f"Gym: {self.environment!r} cannot be copied for every run ({error}): give a "
                    "function that makes one"
                ) from None
        if callable(self.environment):
            return self.environment(**self.options)
        require_extra("Gym", "gym")
        import gymnasium

        name, options = str(self.environment), dict[str, Any](self.options)
        if _module_of(name) is not None:
            allow_local_imports()
            own = _class_at(name)
            if own is not None:
                try:
                    return own(**options)
                except Exception as error:  # whatever it raises
                    raise ValueError(
                        f"Gym: cannot make {self!r}: {describe_error(error)}"
                    ) from error
        try:
            return gymnasium.make(name, **options)
        except (gymnasium.error.Error, TypeError, ImportError) as error:
            raise ValueError(f"Gym: cannot make {self.environment!r}: {error}") from None

    @cached_property
    def _known(self) -> tuple[int, ObservationSpec, int | None]:
        env = self.make()
        try:
            actions = action_count(env.action_space, repr(self))
            limit = getattr(getattr(env, "spec", None), "max_episode_steps", None)
            return (
                actions,
                observation_spec(env.observation_space, self.numbered, repr(self)),
                limit,
            )
        finally:
            env.close()

    @property
    def actions(self) -> int:
        return self._known[0]

    @property
    def observation_spec(self) -> ObservationSpec:
        """How its observations are read."""
        return self._known[1]

    @property
    def counts(self) -> tuple[int, ...]:
        return self.observation_spec.counts

    @property
    def states(self) -> int | None:
        return self.observation_spec.states

    @property
    def bounds(self) -> tuple[tuple[float, float], ...] | None:
        return self.observation_spec.bounds

    @property
    def step_limit(self) -> int | None:
        return self._known[2]

    def __getstate__(self) -> dict[str, object]:
        """The settings alone: what was found out about an environment is true in one process.

        A class of the script that is run is another module's there, so it is sent itself.
        """
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        if _module_of(self.environment) == "__main__":
            found["environment"] = _class_at(str(self.environment)) or self.environment
        return found

    def build(self, rng: np.random.Generator) -> ExternalPart:
        return ExternalPart(self.observation_spec.buffer())

    external = True

    def make_env(self, seed: int, run: int) -> GymRun:
        """A new environment for one run, with its seed."""
        observation_spec = self.observation_spec
        try:
            return GymRun(self.make(), observation_spec, seed, run)
        except Exception as error:  # whatever it raises, though one could be made before
            raise EnvError(f"{describe_error(error)}, in making {self!r} for run {run}") from error


class GymRun:
    """One environment while it runs: whole numbers in, observations into an array.

    ``asked`` is what it has not answered yet, in step ``taken`` of ``episode``.
    """

    def __init__(
        self, env: GymEnvironment, observation_spec: ObservationSpec, seed: int, run: int
    ) -> None:
        self.env = env
        self.observation_spec = observation_spec
        self.run = run
        self.first_action = int(getattr(env.action_space, "start", 0))
        words = seed_sequence(seed, run, ENVIRONMENT).generate_state(1)
        self.seed: int | None = int(words[0] >> 1)
        self.pending_call, self.episode, self.steps_taken = "", -1, 0

    def reset(self, received: np.ndarray) -> None:
        """Begin an episode; the first one is given the seed."""
        seed, self.seed = self.seed, None
        self.pending_call, self.episode, self.steps_taken = "reset", self.episode + 1, 0
        try:
            answer = self.env.reset(seed=seed)
            if not (isinstance(answer, tuple) and len(answer) == 2):
                raise ValueError(f"must return (observation, info), got {answer!r}")
            self.observation_spec.convert(answer[0], received)
        except Exception as error:  # whatever it raises
            raise self._explained(error) from error
        self.pending_call = ""

    def step(self, action: int, received: np.ndarray) -> tuple[float, bool, bool]:
        """(reward, terminated, truncated)."""
        self.steps_taken += 1
        self.pending_call = "step"
        try:
            answer = self.env.step(action + self.first_action)
            if not (isinstance(answer, tuple) and len(answer) == 5):
                raise ValueError(
                    "must return (observation, reward, terminated, truncated, info), "
                    f"got {answer!r}"
                )
            seen, given, terminated, truncated, _ = answer
            self.observation_spec.convert(seen, received)
            reward, ends, cut = finite_reward(given), bool(terminated), bool(truncated)
        except Exception as error:  # whatever it raises
            raise self._explained(error) from error
        self.pending_call = ""
        return reward, ends, cut

    def _explained(self, error: Exception) -> EnvError:
        """The same, and where it was when something went wrong in an environment."""
        ours = isinstance(error, ValueError | TypeError) and user_location(error) is None
        place = f"in {self.pending_call} of run {self.run}, episode {self.episode}"
        reason = error if ours else describe_error(error)
        return EnvError(f"{reason}, {place}, step {self.steps_taken} of {self.env}")

    def close(self) -> None:
        self.env.close()
