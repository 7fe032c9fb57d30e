"""The README for a package index, where links to files beside it lead nowhere, and the addresses.

With EXPECTANT_REPOSITORY, the address of the repository, links lead there, to the version that is
built; without it their texts stay and the links go. Badges and pictures need the address too, and
so do the addresses that an index shows beside a package: a fork has its own.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)\s]+)\)")


def index_readme(text: str, repository: str, version: str) -> str:
    """The text with every relative link made absolute, or with its words alone."""

    def replace(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        if not repository:
            return "" if picture else words
        kind = "raw" if picture else "blob"
        return f"{picture}[{words}]({repository.rstrip('/')}/{kind}/v{version}/{target})"

    return LINK.sub(replace, text)


def index_urls(repository: str, version: str) -> dict[str, str]:
    """What an index links to beside a package; nothing if nobody said where the repository is."""
    if not repository:
        return {}
    here = repository.rstrip("/")
    return {
        "Source": here,
        "Documentation": f"{here}/blob/v{version}/docs/index.md",
        "Changes": f"{here}/blob/v{version}/CHANGELOG.md",
        "Issues": f"{here}/issues",
    }


class ReadmeHook(MetadataHookInterface):
    """Puts the README and the addresses into the metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository = os.environ.get("EXPECTANT_REPOSITORY", "")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": index_readme(text, repository, metadata["version"]),
        }
        metadata["urls"] = index_urls(repository, metadata["version"])
