"""Gymnasium environments as domains."""

from __future__ import annotations

import copy
import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cached_property
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from expectant.core.config import SCRIPT, allow_local_imports, parameter, script_message
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
    check_reward,
    check_single_env,
    observation_spec,
)


def as_domain(domain: Domain | GymSource) -> Domain:
    """Wrap a Gymnasium id or environment in ``Gym``; anything else is returned unchanged."""
    if isinstance(domain, str) or _is_environment(domain):
        return Gym(domain)
    return domain  # type: ignore[return-value]


def _is_environment(source: object) -> TypeGuard[GymEnvironment]:
    """Return True for an environment, False for an id, a class or a function that makes one."""
    return hasattr(source, "reset") and not isinstance(source, type)


def _module_name(source: object) -> str | None:
    """The module in "module:Env-v0" or "module:Class"."""
    if not isinstance(source, str) or ":" not in source:
        return None
    return source.partition(":")[0]


def _import_factory(source: str) -> Callable[..., GymEnvironment] | None:
    """Import the class or function at "module:name"; None if that is a registered id."""
    module, _, name = source.partition(":")
    try:
        factory = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise ValueError(f"Gym: cannot import {module!r} of {source!r}: {error}") from None
    return factory if callable(factory) else None


def _importable_name(source: Any) -> str | None:
    """Return an id, or "module:name" of an importable class or function, else None."""
    if isinstance(source, str):
        return source
    module, name = getattr(source, "__module__", ""), getattr(source, "__qualname__", "")
    factory = getattr(sys.modules.get(module), name, None)
    return f"{module}:{name}" if name and factory is source else None


def _as_dict(value: Any) -> Mapping[str, object]:
    return dict(value)


def _check_source(value: object) -> GymSource:
    if isinstance(value, str) or callable(value) or _is_environment(value):
        return value
    raise ValueError


_SOURCE = Rule("an environment's id, an environment, or a function that makes one", _check_source)
_OPTIONS = Rule("for gymnasium.make, each written as an option of its own", _as_dict)
_NO_OPTIONS: Any = ()  # a dict could be changed


class _EnvInfo(NamedTuple):
    actions: int
    spec: ObservationSpec
    step_limit: int | None


class Gym(Domain):
    """A Gymnasium environment with numbered actions.

    ``environment`` is an id for ``gymnasium.make``; a class or function that makes one, itself or
    as "module:Class"; or an environment, which is copied for every run. Further ``options`` go to
    ``gymnasium.make`` or to the class or function.
    ``numbered`` decides if observations of whole numbers are state indices (for ``OneHot`` and
    ``RandomBinary``) or vectors (for ``Tiles``); None: state indices, up to a million of them.
    """

    environment: GymSource = parameter(_SOURCE)
    numbered: bool | None = parameter(or_none(flag()), default=None)
    options: Mapping[str, object] = parameter(_OPTIONS, default=_NO_OPTIONS)

    def __init__(
        self, environment: GymSource, *, numbered: bool | None = None, **options: object
    ) -> None:
        object.__setattr__(self, "environment", environment)
        object.__setattr__(self, "numbered", numbered)
        object.__setattr__(self, "options", options)
        self.__post_init__()

    def validate(self) -> None:
        check_single_env(self.environment, "Gym")
        if self.options and _is_environment(self.environment):
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
        """The environment's id, or the name of its class or factory."""
        source = self.environment
        if isinstance(source, str):
            return source.rpartition(":")[2]
        named = getattr(source, "unwrapped", source) if _is_environment(source) else source
        return getattr(named, "__name__", type(named).__name__)

    def to_dict(self) -> dict[str, object]:
        """Return plain data; raise ValueError unless the environment is an id or importable."""
        return {"kind": self.kind, **self._arguments()}

    def _arguments(self) -> dict[str, object]:
        name = _importable_name(self.environment)
        if name is None:
            raise ValueError(
                f"Gym: {self.environment!r} cannot be written down: give an id, or a class or "
                "function of a module or script ('module:Class')"
            )
        return {"environment": name, "numbered": self.numbered, **self.options}

    @classmethod
    def module_in(cls, data: dict[str, object]) -> str | None:
        return _module_name(data.get("environment"))

    def make(self) -> GymEnvironment:
        """Make a new environment for one run."""
        environment = self._make()
        check_single_env(environment, "Gym")
        return environment

    def _make(self) -> GymEnvironment:
        if _is_environment(self.environment):
            try:
                return copy.deepcopy(self.environment)
            except Exception as error:
                raise ValueError(
                    f"Gym: {self.environment!r} cannot be copied for every run ({error}): give a "
                    "function that makes one"
                ) from None
        if callable(self.environment):
            return self.environment(**self.options)
        require_extra("Gym", "gym")
        import gymnasium

        name, options = str(self.environment), dict[str, Any](self.options)
        if _module_name(name) is not None:
            allow_local_imports()
            factory = _import_factory(name)
            if factory is not None:
                try:
                    return factory(**options)
                except Exception as error:
                    raise ValueError(
                        f"Gym: cannot make {self!r}: {describe_error(error)}"
                    ) from error
        try:
            return gymnasium.make(name, **options)
        except (gymnasium.error.Error, TypeError, ImportError) as error:
            is_script = _module_name(name) == SCRIPT
            problem = script_message(name) if is_script else f"cannot make {name!r}: {error}"
            raise ValueError(f"Gym: {problem}") from None

    @cached_property
    def _info(self) -> _EnvInfo:
        env = self.make()
        try:
            return _EnvInfo(
                action_count(env.action_space, repr(self)),
                observation_spec(env.observation_space, self.numbered, repr(self)),
                getattr(getattr(env, "spec", None), "max_episode_steps", None),
            )
        finally:
            env.close()

    @property
    def actions(self) -> int:
        return self._info.actions

    @property
    def observation_spec(self) -> ObservationSpec:
        return self._info.spec

    @property
    def counts(self) -> tuple[int, ...]:
        return self._info.spec.counts

    @property
    def states(self) -> int | None:
        return self._info.spec.states

    @property
    def bounds(self) -> tuple[tuple[float, float], ...] | None:
        return self._info.spec.bounds

    @property
    def step_limit(self) -> int | None:
        return self._info.step_limit

    def __getstate__(self) -> dict[str, object]:
        """Return the parameters without cached facts, which are valid in one process only.

        A class in ``__main__`` is pickled itself: a worker has another ``__main__``.
        """
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        if _module_name(self.environment) == SCRIPT:
            state["environment"] = _import_factory(str(self.environment)) or self.environment
        return state

    def build(self, rng: np.random.Generator) -> ExternalPart:
        return ExternalPart(self.observation_spec.buffer())

    external = True

    def make_env(self, seed: int, run: int) -> GymRun:
        """Make the environment of one run, with its seed."""
        spec = self.observation_spec
        try:
            return GymRun(self.make(), spec, seed, run)
        except Exception as error:
            raise EnvError(f"{describe_error(error)}, in making {self!r} for run {run}") from error


class GymRun:
    """The environment of one run: action indices in, observations into an array.

    Errors of the environment are raised as ``EnvError`` with run, episode and step.
    """

    def __init__(self, env: GymEnvironment, spec: ObservationSpec, seed: int, run: int) -> None:
        self.env = env
        self.spec = spec
        self.run = run
        self.first_action = int(getattr(env.action_space, "start", 0))
        words = seed_sequence(seed, run, ENVIRONMENT).generate_state(1)
        self.seed: int | None = int(words[0] >> 1)
        self.episode, self.steps_taken = -1, 0

    def reset(self, received: np.ndarray) -> None:
        """Begin an episode; the first one gets the seed."""
        seed, self.seed = self.seed, None
        self.episode, self.steps_taken = self.episode + 1, 0
        try:
            answer = self.env.reset(seed=seed)
            if not (isinstance(answer, tuple) and len(answer) == 2):
                raise ValueError(f"must return (observation, info), got {answer!r}")
            self.spec.convert(answer[0], received)
        except Exception as error:
            raise self._locate(error, "reset") from error

    def step(self, action: int, received: np.ndarray) -> tuple[float, bool, bool]:
        """Take a step; return (reward, terminated, truncated)."""
        self.steps_taken += 1
        try:
            answer = self.env.step(action + self.first_action)
            if not (isinstance(answer, tuple) and len(answer) == 5):
                raise ValueError(
                    "must return (observation, reward, terminated, truncated, info), "
                    f"got {answer!r}"
                )
            observation, reward, terminated, truncated, _ = answer
            self.spec.convert(observation, received)
            return check_reward(reward), bool(terminated), bool(truncated)
        except Exception as error:
            raise self._locate(error, "step") from error

    def _locate(self, error: Exception, call: str) -> EnvError:
        """Return the error with run, episode and step."""
        ours = isinstance(error, ValueError | TypeError) and user_location(error) is None
        where = f"in {call} of run {self.run}, episode {self.episode}, step {self.steps_taken}"
        return EnvError(f"{error if ours else describe_error(error)}, {where} of {self.env}")

    def close(self) -> None:
        self.env.close()
