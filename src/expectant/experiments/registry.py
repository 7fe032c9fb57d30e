"""What data call by a name: probes and metrics, of the package and of anybody's own."""

from __future__ import annotations

from typing import Protocol, TypeVar

from expectant.core.config import suggest_name


class Named(Protocol):
    """Anything with a name."""

    @property
    def name(self) -> str: ...


Found = TypeVar("Found", bound=Named)


class Registry(dict[str, Found]):
    """Things of one kind by their names, each of which is taken once."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def add(self, found: Found) -> Found:
        """Let data know a thing by its name."""
        if found.name in self:
            raise ValueError(f"{self.kind}: the name {found.name!r} is taken")
        self[found.name] = found
        return found

    def named(self, name: object, where: str = "") -> Found:
        """The thing of a name; ``where`` it was asked for is said if there is none."""
        if name not in self:
            near = suggest_name(str(name), sorted(self))
            raise ValueError(f"{where or self.kind}: unknown {name!r}{near}")
        return self[str(name)]
