"""Descriptions: the small immutable settings that users write.

A description validates its arguments, compares, prints and goes through a dict and back. It holds
settings only; ``build`` makes the arrays that compiled code works on, anew for every run.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np

from expectant.core.parameter_docs import known_elsewhere, meaning_of
from expectant.core.rules import Rule

__all__ = [
    "Config",
    "parameter",
    "register",
]

KINDS: dict[str, type[Config]] = {}


PARAMETERS_HEADING = "\n\nParameters\n"  # what the generated end of a docstring begins with


Given = TypeVar("Given")
_NONE: Any = dataclasses.MISSING  # type checkers are to see the default's type, not this one


def parameter(
    rule: Rule[Given],
    *,
    default: Given = _NONE,
    kw_only: bool = False,
    meaning: str = "",
    hidden: bool = False,
) -> Given:
    """Declare a parameter with the rule that its values obey, and its meaning.

    A ``hidden`` one is left out of the signature and the documentation.
    """
    metadata = {"rule": rule, "meaning": meaning, "hidden": hidden}
    return dataclasses.field(default=default, kw_only=kw_only, metadata=metadata)


def list_parameters(described: type) -> list[dict[str, Any]]:
    """List every parameter of a class as plain data; positional ones come first."""
    return [
        {
            "name": field.name,
            "rule": field.metadata["rule"].text,
            "default": None if field.default is dataclasses.MISSING else field.default,
            "required": field.default is dataclasses.MISSING,
            "meaning": meaning_of(
                described.__name__, field.name, field.metadata.get("meaning", "")
            ),
        }
        for field in sorted(dataclasses.fields(described), key=lambda field: field.kw_only is True)
        if "rule" in field.metadata and not field.metadata["hidden"]
    ]


def default_text(found: Mapping[str, Any]) -> str:
    """Describe the default of a parameter listed by :func:`options_of`."""
    return "required" if found["required"] else f"default {found['default']!r}"


def _document(made: Any) -> None:
    """Let ``help`` tell the options of a class, too."""
    if made.__doc__ is None:  # python -OO
        return
    lines = [
        f"    {found['name']}: {found['meaning'] or 'no meaning given'} ({default_text(found)})"
        for found in list_parameters(made)
    ]
    if lines:
        summary = inspect.cleandoc(made.__doc__.partition(PARAMETERS_HEADING)[0])
        made.__doc__ = summary + PARAMETERS_HEADING + "\n".join(lines)


def suggest_parameter(name: str, known: list[str]) -> str:
    """The same for options, which other libraries may call something else."""
    return known_elsewhere(name, known) or suggest_name(name, known)


def suggest_name(name: str, known: list[str]) -> str:
    """', did you mean …?' where some known names begin so, or one of them is close."""
    begin_so = [one for one in known if name and one.startswith(name)]
    meant = begin_so or difflib.get_close_matches(name, known, n=1)
    if not meant:
        return f" (known: {', '.join(known)})"
    return f", did you mean {' or '.join(map(repr, meant))}?"


class ConfigType(type):
    """The type of descriptions; ``dir`` and ``help`` of a class show its public methods only."""

    def __dir__(cls) -> list[str]:
        return [*(["paper"] if hasattr(cls, "paper") else []), "replace"]


@dataclass_transform(frozen_default=True, field_specifiers=(parameter,))
class Config(metaclass=ConfigType):
    """Base of everything a user describes; the frozen, validated settings of a component."""

    kind: ClassVar[str]
    public: ClassVar[Sequence[str]] = ()  # names beside the parameters that users ask for

    def __init_subclass__(cls, *, abstract: bool = False, **keywords: Any) -> None:
        """Make a subclass a frozen dataclass with validated parameters.

        An ``abstract`` one only declares parameters that its subclasses share.
        """
        super().__init_subclass__(**keywords)
        declares = any(isinstance(value, dataclasses.Field) for value in vars(cls).values())
        if not abstract and (declares or "__init__" not in vars(cls)):
            _make(cls)  # a class with an __init__ of its own and no parameters stays as it is
        elif declares:
            dataclass(frozen=True, eq=False, repr=False)(cls)

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            rule = field.metadata.get("rule")
            if rule is not None:
                checked = rule.check(type(self).__name__, field.name, getattr(self, field.name))
                object.__setattr__(self, field.name, checked)
        self.validate()

    def validate(self) -> None:
        """Check what concerns several arguments at once."""

    def to_dict(self) -> dict[str, object]:
        """Plain data: the kind and every argument, ready for TOML or JSON."""
        result: dict[str, object] = {"kind": qualified_kind(type(self))}
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if not (field.metadata.get("hidden") and value == field.default):
                result[field.name] = _plain(value)
        return result

    @classmethod
    def from_dict(cls, data: dict[str, object], *, trust: bool = False) -> Self:
        """Make the object that ``to_dict`` came from; ``trust=True`` may import "module:Class"."""
        if not isinstance(data, dict):
            raise ValueError(f"{cls.__name__}: must be a table with a kind, got {data!r}")
        data = dict(data)
        name = data.pop("kind", getattr(cls, "kind", None))
        found = find_kind(name, trust=trust)
        if not issubclass(found, cls):
            raise ValueError(f"kind: {name!r} is not a {cls.__name__}")
        module = found.module_in(data)
        if module is not None and not trust and module not in sys.modules:
            raise ValueError(f"{found.__name__}: {trust_message(f'the module {module!r}')}")
        preset = data.pop("preset", None)
        make: Any = found if preset is None else found.preset(preset)
        return make(**{key: _described(item, trust) for key, item in data.items()})

    @classmethod
    def preset(cls, name: object) -> Callable[..., Self]:
        """The constructor that ``preset = "paper"`` stands for in data."""
        if name != "paper" or not hasattr(cls, "paper"):
            known = "'paper'" if hasattr(cls, "paper") else "none"
            raise ValueError(f"{cls.__name__}: unknown preset {name!r} (known: {known})")
        return cls.paper  # type: ignore[attr-defined]

    @classmethod
    def module_in(cls, data: dict[str, object]) -> str | None:
        """The module that arguments in data name and that using them would import, if any."""
        return None

    def replace(self, **changes: object) -> Self:
        """The same description with some arguments changed."""
        return type(self)(**{**self._arguments(), **changes})

    def __dir__(self) -> list[str]:
        """List parameters and public methods, which completion shows."""
        fields: Any = dataclasses.fields(self) if dataclasses.is_dataclass(self) else ()
        shown = [field.name for field in fields if not field.metadata.get("hidden")]
        return sorted({"from_dict", "to_dict", *dir(type(self)), *shown, *self.public})

    def __repr__(self) -> str:
        """Show what differs from the defaults."""
        fields: Any = dataclasses.fields(self) if dataclasses.is_dataclass(self) else ()
        changed = [f.name for f in fields if not _same(getattr(self, f.name), f.default)]
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in changed)
        return f"{type(self).__name__}({shown})"

    def _arguments(self) -> dict[str, object]:
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}  # type: ignore[arg-type]


def register(name: str, described: type[Config]) -> None:
    """Let specs, ``from_dict`` and ``expectant list`` know a description by a name of one's choice.

    Every class made by :func:`description` is known already, under its name in snake case.
    """
    if not (isinstance(name, str) and re.fullmatch(r"[a-z][a-z0-9_]*", name)):
        raise ValueError(
            f"register: name must be lower-case letters, digits and underscores, got {name!r}"
        )
    if not (isinstance(described, type) and issubclass(described, Config)):
        raise ValueError(
            f"register: {name!r} must be a class derived from Config, got {described!r}"
        )
    taken = KINDS.get(name)
    if taken is not None and taken is not described and _ours(taken):
        raise ValueError(f"register: the name {name!r} is taken by {taken.__name__}")
    KINDS[name] = described
    described.kind = name


def _ours(described: type) -> bool:
    return described.__module__.startswith("expectant.")


def nested_classes(thing: object) -> Iterator[type]:
    """The classes of a description, and of all that are in it; else none."""
    if isinstance(thing, Config):
        yield type(thing)
        for inner in vars(thing).values():
            yield from nested_classes(inner)
    elif isinstance(thing, tuple):
        for inner in thing:
            yield from nested_classes(inner)


def is_all_builtin(*described: object) -> bool:
    """Whether descriptions, and those in them, are all the package's own."""
    return all(_ours(kind) for thing in described for kind in nested_classes(thing))


def snake_case(name: str) -> str:
    """``FiniteMDP`` as ``finite_mdp``."""
    return "_".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z]*", name)).lower()


def qualified_kind(found: type[Config]) -> str:
    """The name of a kind in data: where to import it, if it is somebody's own and can be.

    A name that was chosen by :func:`register` is kept.
    """
    module, chosen = found.__module__, found.kind != snake_case(found.__name__)
    at_hand = module.startswith(("expectant.", "expectant_main", "__main__"))
    if chosen or at_hand or "<" in found.__qualname__:
        return found.kind
    return f"{module}:{found.__qualname__}"


def trust_message(what: str) -> str:
    """The sentence about what data name and nobody has said to be trusted."""
    return (
        f"names {what}, which would be imported and run; pass trust=True (command line: --trust) "
        "if you trust it"
    )


def needs_trust(data: object) -> bool:
    """Whether data, as ``to_dict`` makes them, name code that is imported only where trusted."""
    if isinstance(data, list | tuple):
        return any(map(needs_trust, data))
    if not isinstance(data, Mapping):
        return False
    kind = data.get("kind")
    if isinstance(kind, str) and (":" in kind or _module_beside(kind, data)):
        return True
    return any(map(needs_trust, data.values()))


def _module_beside(kind: str, data: Mapping[str, object]) -> bool:
    return kind in KINDS and KINDS[kind].module_in(dict(data)) is not None


def find_kind(name: object, *, trust: bool = False) -> type[Config]:
    """The class that a ``kind`` stands for: its name, or where it is, "module:Class".

    Only with ``trust`` a module that this process has not imported yet is imported.
    """
    if isinstance(name, str) and ":" in name:
        return _located(name, trust)
    if name not in KINDS:
        raise ValueError(f"kind: unknown {name!r}" + suggest_name(str(name), sorted(KINDS)))
    return KINDS[name]


def allow_local_imports() -> None:
    """Let modules in the working directory be imported."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


def _located(name: str, trust: bool) -> type[Config]:
    """The description at "module:Class"; modules are looked for in the working directory too."""
    module, _, attribute = name.partition(":")
    if trust:
        allow_local_imports()
    elif module not in sys.modules:
        raise ValueError(f"kind: {trust_message(f'the class {name!r}')}")
    try:
        found = getattr(
            importlib.import_module(module) if trust else sys.modules[module], attribute
        )
    except Exception as error:  # whatever the module raises
        raise ValueError(f"kind: cannot import {name!r}: {error}") from None
    if not (isinstance(found, type) and issubclass(found, Config)):
        raise ValueError(f"kind: {name!r} must be a component class, got {found!r}")
    return found


def _same(value: object, default: object) -> bool:
    """True if a parameter has its default, arrays included."""
    same = value is default or value == default
    return bool(np.all(same)) and not isinstance(value, np.ndarray)


def _plain(value: object) -> object:
    if isinstance(value, Config):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _described(value: object, trust: bool) -> object:
    if isinstance(value, dict) and "kind" in value:
        return Config.from_dict(value, trust=trust)
    if isinstance(value, list):
        return [_described(item, trust) for item in value]
    return value


def _make(cls: Any) -> None:
    """Make a class a frozen dataclass that is known under its name in snake case."""
    inherited = cls.__eq__ is object.__eq__ or hasattr(cls.__eq__, "generated")
    dataclass(frozen=True, eq=inherited, repr=False)(cls)
    if inherited:
        cls.__eq__.generated = True  # one that a class wrote itself is left to it
    cls.kind = snake_case(cls.__name__)
    hidden = [f.name for f in dataclasses.fields(cls) if f.metadata.get("hidden")]
    cls.__init__ = _checked_init(cls.__init__, cls.__name__, hidden)
    taken = KINDS.get(cls.kind)
    if taken is not None and _ours(taken):
        raise ValueError(
            f"{cls.__name__}: the name {cls.kind!r} is taken by {taken.__module__}.{taken.__name__}"
        )
    KINDS[cls.kind] = cls
    _document(cls)


def _checked_init(
    init: Callable[..., None], owner: str, hidden: Collection[str]
) -> Callable[..., None]:
    """Refuse unknown and missing arguments of a class's constructor in one sentence."""
    own, *parameters = inspect.signature(init).parameters.values()
    named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    known, takes_any = [p.name for p in named], len(named) < len(parameters)
    required = [p.name for p in named if p.default is p.empty]

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        for name, given in kwargs.items():
            if name not in known and not takes_any:
                suggestion = suggest_parameter(name, known)
                raise ValueError(f"{owner}: unknown parameter {name}={given!r}{suggestion}")
        missing = [name for name in required[len(args) :] if name not in kwargs]
        if missing:
            raise ValueError(f"{owner}: needs {' and '.join(missing)}")
        init(self, *args, **kwargs)

    visible = [p for p in parameters if p.name not in hidden]
    __init__.__signature__ = inspect.Signature([own, *visible])  # type: ignore[attr-defined]
    return __init__
