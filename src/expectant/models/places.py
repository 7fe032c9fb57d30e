"""What exact models need to know: the finite MDP that a part is built for."""

from __future__ import annotations

from expectant.domains.finite import FiniteMDP
from expectant.parts import Site


def finite_mdp(site: Site, owner: str) -> FiniteMDP:
    """The MDP of the site's domain; an error where it has none."""
    mdp = site.domain.mdp()
    if mdp is None:
        raise ValueError(
            f"{owner}: needs a domain that is a finite MDP, {type(site.domain).__name__} is not"
        )
    return mdp
