"""Looks: one number of what an agent knows each, known by name.

A look asks an agent about all states of its domain. Those that come with the package are computed
exactly, so that there is no noise in them; anybody can add one with :func:`look_as`. Where states
have no numbers, a look can be at episodes instead. Whoever imports from here has them all.
"""

from expectant.lab import policy_looks, return_looks, value_looks
from expectant.lab.looking import LOOKS, Look, Seen, add_look, look_as, look_named

__all__ = [
    "LOOKS", "Look", "Seen", "add_look", "look_as", "look_named", "policy_looks", "return_looks",
    "value_looks",
]  # fmt: skip
