"""Configs: frozen, validated parameters of components, with conversion from and to plain data.

A config holds parameters only; ``build`` makes the arrays that compiled code works on, anew for
every run.
"""

from __future__ import annotations

import copy
import dataclasses
import difflib
import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np

from expectant.core.parameter_meanings import MEANINGS, MOVED, SYNONYMS
from expectant.core.rules import Rule

__all__ = ["Config", "parameter"]

KINDS: dict[str, type[Config]] = {}  # config classes by their names in data
SCRIPT = "__main__"  # another module in every process
PARAMETERS_HEADING = "\n\nParameters\n"  # begins the generated end of a docstring

Value = TypeVar("Value")
_MISSING: Any = dataclasses.MISSING  # so that type checkers infer the type from the default


def parameter(
    rule: Rule[Value],
    *,
    default: Value = _MISSING,
    kw_only: bool = False,
    meaning: str = "",
    hidden: bool = False,
) -> Value:
    """Declare a parameter with the rule that its values must satisfy, and its meaning.

    A ``hidden`` one is left out of the signature and the documentation.
    """
    metadata = {"rule": rule, "meaning": meaning, "hidden": hidden}
    return dataclasses.field(default=default, kw_only=kw_only, metadata=metadata)


def list_parameters(cls: type) -> list[dict[str, Any]]:
    """List every parameter of a class as plain data; positional ones come first."""
    return [
        {
            "name": field.name,
            "rule": field.metadata["rule"].text,
            "default": None if field.default is _MISSING else field.default,
            "required": field.default is _MISSING,
            "meaning": field.metadata["meaning"]
            or MEANINGS.get(f"{cls.__name__}.{field.name}")
            or MEANINGS.get(field.name, ""),
        }
        for field in sorted(dataclasses.fields(cls), key=lambda field: field.kw_only is True)
        if "rule" in field.metadata and not field.metadata["hidden"]
    ]


def unknown_parameter(owner: str, name: str, value: object, known: list[str]) -> ValueError:
    """Return the error for a parameter that does not exist: what is meant, or where it is now."""
    moved = [advice[name] for needed, advice in MOVED.items() if needed in known and name in advice]
    hint = f"; {moved[0].format(value=value)}" if moved else suggest_parameter(name, known)
    return ValueError(f"{owner}: unknown parameter {name}={value!r}{hint}")


def suggest_parameter(name: str, known: list[str]) -> str:
    """Suggest known parameters for an unknown one: synonyms in other libraries, or near misses."""
    meant = [repr(synonym) for synonym in SYNONYMS.get(name.lower(), ()) if synonym in known]
    return f", did you mean {' or '.join(meant)}?" if meant else suggest_name(name, known)


def suggest_name(name: str, known: list[str]) -> str:
    """Return ", did you mean …?" with similar names, or the list of known names."""
    completions = [candidate for candidate in known if name and candidate.startswith(name)]
    meant = completions or difflib.get_close_matches(name, known, n=1)
    if not meant:
        return f" (known: {', '.join(known)})"
    return f", did you mean {' or '.join(map(repr, meant))}?"


class ConfigType(type):
    """The metaclass of configs; ``dir`` and ``help`` of a class show its public methods only."""

    def __dir__(cls) -> list[str]:
        return [*(["paper"] if hasattr(cls, "paper") else []), "replace"]


@dataclass_transform(frozen_default=True, field_specifiers=(parameter,))
class Config(metaclass=ConfigType):
    """Base class of all configs; a subclass declares its parameters with :func:`parameter`."""

    kind: ClassVar[str]  # the name in data
    public: ClassVar[Sequence[str]] = ()  # public attributes besides the parameters

    def __init_subclass__(cls, *, abstract: bool = False, **keywords: Any) -> None:
        """Make a subclass a frozen dataclass with validated parameters.

        An ``abstract`` one only declares parameters that its subclasses share. A class with a
        constructor and without parameters stays as it is.
        """
        super().__init_subclass__(**keywords)
        declared = {k: v for k, v in vars(cls).items() if isinstance(v, dataclasses.Field)}
        for name, field in declared.items():
            if "rule" in field.metadata and field.default is not _MISSING:
                with suppress(ImportError, NameError):  # its rule may refer to what comes later
                    default = field.metadata["rule"].check(cls.__name__, name, field.default)
                    field.default = field.default if default.__hash__ is None else default
        declares = bool(declared)
        if not abstract and (declares or "__init__" not in vars(cls)):
            _make_config(cls)
        elif declares:
            dataclass(frozen=True, eq=False, repr=False)(cls)

    def __post_init__(self) -> None:
        for field in _fields(self):
            rule, value = field.metadata.get("rule"), getattr(self, field.name)
            if rule is not None and value is not field.default:  # which was checked already
                checked = rule.check(type(self).__name__, field.name, value)
                object.__setattr__(self, field.name, checked)
        self.validate()

    def validate(self) -> None:
        """Check conditions that involve several parameters."""

    def to_dict(self) -> dict[str, object]:
        """Return the kind and every parameter as plain data for TOML or JSON."""
        result: dict[str, object] = {"kind": qualified_kind(type(self))}
        for field in _fields(self):
            value = getattr(self, field.name)
            if not (field.metadata.get("hidden") and value == field.default):
                result[field.name] = _to_plain(value)
        return result

    @classmethod
    def from_dict(cls, data: dict[str, object], *, trust: bool = False) -> Self:
        """Make a config from plain data; only ``trust=True`` may import "module:Class"."""
        if not isinstance(data, dict):
            raise ValueError(f"{cls.__name__}: must be a table with a kind, got {data!r}")
        data = dict(data)
        name = data.pop("kind", getattr(cls, "kind", None))
        component = find_kind(name, trust=trust)
        if not issubclass(component, cls):
            raise ValueError(f"kind: {name!r} is not a {cls.__name__}")
        module = component.module_in(data)
        if module is not None and not trust and module not in sys.modules:
            raise ValueError(f"{component.__name__}: {trust_message(f'the module {module!r}')}")
        preset = data.pop("preset", None)
        make: Any = component
        if preset == "paper" and hasattr(component, "paper"):
            make = make.paper
        elif preset is not None:
            raise ValueError(f"{component.__name__}: unknown preset {preset!r}")
        return make(**{key: _from_plain(value, trust) for key, value in data.items()})

    @classmethod
    def module_in(cls, data: dict[str, object]) -> str | None:
        """Return the module that parameters in data name and would import, if any."""
        return None

    def replace(self, **changes: object) -> Self:
        """Return the same config with some parameters changed."""
        return type(self)(**{**self._arguments(), **changes})

    def __dir__(self) -> list[str]:
        visible = [field.name for field in _fields(self) if not field.metadata.get("hidden")]
        return sorted({"from_dict", "to_dict", *dir(type(self)), *visible, *self.public})

    def __repr__(self) -> str:
        """Show the parameters that differ from their defaults, positional ones first."""
        fields = sorted(_fields(self), key=lambda field: field.kw_only is True)
        changed = [f.name for f in fields if not _is_equal(getattr(self, f.name), f.default)]
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in changed)
        return f"{type(self).__name__}({shown})"

    def _arguments(self) -> dict[str, object]:
        return {field.name: getattr(self, field.name) for field in _fields(self)}


def _fields(config: Any) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(config) if dataclasses.is_dataclass(config) else ()


def _is_equal(value: object, default: object) -> bool:
    equal = value is default or value == default
    return bool(np.all(equal)) and not isinstance(value, np.ndarray)


def _make_config(cls: Any) -> None:
    """Make a class a frozen dataclass, registered under its name in snake case."""
    replaceable = cls.__eq__ is object.__eq__ or hasattr(cls.__eq__, "generated")
    dataclass(frozen=True, eq=replaceable, repr=False)(cls)
    if replaceable:
        cls.__eq__.generated = True  # subclasses replace it, but not one written by hand
    cls.kind = snake_case(cls.__name__)
    hidden = [field.name for field in _fields(cls) if field.metadata.get("hidden")]
    cls.__init__ = _check_arguments(cls.__init__, cls.__name__, hidden)
    taken = KINDS.get(cls.kind)
    if taken is not None and is_builtin(taken):
        raise ValueError(
            f"{cls.__name__}: the name {cls.kind!r} is taken by {taken.__module__}.{taken.__name__}"
        )
    KINDS[cls.kind] = cls
    _document_parameters(cls)


def _document_parameters(cls: Any) -> None:
    """Append the parameters to the docstring of a class, for ``help``."""
    if cls.__doc__ is None:  # python -OO
        return
    lines = []
    for entry in list_parameters(cls):
        default = "required" if entry["required"] else f"default {entry['default']!r}"
        lines.append(f"    {entry['name']}: {entry['meaning'] or 'no meaning given'} ({default})")
    if lines:
        summary = inspect.cleandoc(cls.__doc__.partition(PARAMETERS_HEADING)[0])
        cls.__doc__ = summary + PARAMETERS_HEADING + "\n".join(lines)


def _check_arguments(
    init: Callable[..., None], owner: str, hidden: Collection[str]
) -> Callable[..., None]:
    """Wrap a constructor so that it refuses unknown and missing arguments in one sentence."""
    first, *parameters = inspect.signature(init).parameters.values()
    named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    known, takes_any = [p.name for p in named], len(named) < len(parameters)
    required = [p.name for p in named if p.default is p.empty]

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        for name, value in kwargs.items():
            if name not in known and not takes_any:
                raise unknown_parameter(owner, name, value, known)
        missing = [name for name in required[len(args) :] if name not in kwargs]
        if missing:
            raise ValueError(f"{owner}: needs {' and '.join(missing)}")
        init(self, *args, **kwargs)

    visible = [p.replace(annotation=p.empty) for p in parameters if p.name not in hidden]
    __init__.__signature__ = inspect.Signature([first, *visible])  # type: ignore[attr-defined]
    return __init__


# ------------------------------------------------------------------------- names of classes


def snake_case(name: str) -> str:
    """Convert ``FiniteMDP`` to ``finite_mdp``."""
    return "_".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z]*", name)).lower()


def qualified_kind(cls: type[Config]) -> str:
    """Return the name of a class in data: "module:Class" for an importable class of a user's."""
    is_local = cls.__module__.startswith(("expectant.", "expectant_main", "__main__"))
    if is_local or "<" in cls.__qualname__:
        return cls.kind
    return f"{cls.__module__}:{cls.__qualname__}"


def find_kind(name: object, *, trust: bool = False) -> type[Config]:
    """Return the class that a ``kind`` names, by its registered name or as "module:Class".

    Only with ``trust`` is a module imported that this process has not imported yet.
    """
    if isinstance(name, str) and ":" in name:
        return _import_class(name, trust)
    if name not in KINDS:
        raise ValueError(f"kind: unknown {name!r}" + suggest_name(str(name), sorted(KINDS)))
    return KINDS[name]


def _import_class(name: str, trust: bool) -> type[Config]:
    """Return the config class at "module:Class", also from the working directory."""
    module, _, attribute = name.partition(":")
    if trust:
        allow_local_imports()
    elif module not in sys.modules:
        raise ValueError(f"kind: {trust_message(f'the class {name!r}')}")
    try:
        source = importlib.import_module(module) if trust else sys.modules[module]
        cls = getattr(source, attribute)
    except Exception as error:  # whatever the module raises
        problem = script_message(name) if module == SCRIPT else f"cannot import {name!r}: {error}"
        raise ValueError(f"kind: {problem}") from None
    if not (isinstance(cls, type) and issubclass(cls, Config)):
        raise ValueError(f"kind: {name!r} must be a component class, got {cls!r}")
    return cls


def allow_local_imports() -> None:
    """Allow imports of modules in the working directory."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


def trust_message(thing: str) -> str:
    """Return the refusal of data that would import ``thing``."""
    return (
        f"names {thing}, which would be imported and run; pass trust=True (command line: --trust) "
        "if you trust it"
    )


def script_message(name: str) -> str:
    """Return the refusal of data that name a class of a script, from another process."""
    return (
        f"{name!r} is defined in a script, which other commands cannot import: move it to a module "
        "of its own, or go on in the script, as with sweep.best()"
    )


def is_builtin(thing: Any) -> bool:
    """Return True if a class or function is defined in this package."""
    return str(thing.__module__).partition(".")[0] == "expectant"


def nested_classes(value: object) -> Iterator[type]:
    """Yield the classes of a config and of all configs inside it; none for other values."""
    if isinstance(value, Config):
        yield type(value)
        value = tuple(vars(value).values())
    if isinstance(value, tuple):
        for inner in value:
            yield from nested_classes(inner)


Reads = list[tuple["Config", set[str]]]  # users' configs with the names read from them


def record_reads(value: Any, reads: Reads) -> Any:
    """Copy a config, or a tuple of them; reads of attributes of users' classes are recorded."""
    if isinstance(value, tuple):
        return tuple(record_reads(item, reads) for item in value)
    if not isinstance(value, Config):
        return value
    cls: Any = type(value)
    twin = copy.copy(value)
    for name, item in vars(value).items():
        vars(twin)[name] = record_reads(item, reads)
    if not is_builtin(cls):
        names: set[str] = set()

        def record(self: object, name: str) -> Any:
            names.add(name)
            return object.__getattribute__(self, name)

        reads.append((value, names))
        recorder = type(cls)(cls.__name__, (cls,), {"__getattribute__": record}, abstract=True)
        object.__setattr__(twin, "__class__", recorder)
    return twin


def refuse_unread(reads: Reads) -> None:
    """Refuse changed parameters that a user's class inherits and has not read."""
    for config, names in reads:
        owner, own = type(config).__name__, vars(type(config)).get("__annotations__", {})
        for field in _fields(config):
            value = getattr(config, field.name)
            if field.name not in {*own, *names} and not _is_equal(value, field.default):
                raise ValueError(
                    f"{owner}: {field.name}={value!r} has no effect, because {owner} inherits the "
                    "parameter and never reads it"
                )


def _to_plain(value: object) -> object:
    if isinstance(value, Config):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_to_plain(item) for item in value] if isinstance(value, tuple) else value


def _from_plain(value: object, trust: bool) -> object:
    if isinstance(value, dict) and "kind" in value:
        return Config.from_dict(value, trust=trust)
    if isinstance(value, list):
        return [_from_plain(item, trust) for item in value]
    return value
