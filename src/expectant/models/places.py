"""What exact models need to know: the finite MDP that a part is built for."""

from __future__ import annotations

from typing import Protocol, cast

import numpy as np

from expectant.domains.finite import FiniteMDP
from expectant.parts import Site


class InPhases(Protocol):
    """What the part of a finite MDP has: ``now``, its present state and phase."""

    now: np.ndarray


def phase_now(site: Site) -> np.ndarray:
    """Where the site's domain has its present phase, for models that are always of that one."""
    return cast(InPhases, site.domain_part).now  # as every domain with an mdp() builds it


def finite_mdp(site: Site, owner: str) -> FiniteMDP:
    """The MDP of the site's domain; an error where it has none."""
    mdp = site.domain.mdp()
    if mdp is None:
        raise ValueError(
            f"{owner}: needs a domain that is a finite MDP, {type(site.domain).__name__} is not"
        )
    return mdp
