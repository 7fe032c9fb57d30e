"""Calls of verbs of one's own that must leave alone what they are given to look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from expectant.core import tree
from expectant.engine.trial.contracts import Contracts, written
from expectant.engine.trial.mistakes import PartError
from expectant.verbs import (
    Verb,
    act,
    backed_up_action_value,
    backed_up_value,
    encode,
    fit,
    learn,
    policy,
    policy_of,
    preference,
    remember,
    stop,
    stop_of,
)
from expectant.whose import is_ours

READ_ONLY: dict[Verb[object], tuple[int, ...]] = {  # what a verb may look at and not change
    act: (0,),
    preference: (0,),
    learn: (0,),
    fit: (0,),
    remember: (0,),
    encode: (0,),
    backed_up_value: (0, 2),
    backed_up_action_value: (0, 2),
    policy: (0,),
    policy_of: (1,),
    stop: (0,),
    stop_of: (1,),
}


def careful(
    contracts: Contracts,
    verb: Verb[object],
    implementation: Callable[..., Any],
    part: Any,
    args: tuple[Any, ...],
) -> Any:
    """What a verb returns, checked by the contracts; to change what is not its own is an error."""
    looked_at = () if is_ours(implementation) else READ_ONLY.get(verb, ())
    kept = [
        (array, array.copy()) for position in looked_at for _, array in tree.arrays(args[position])
    ]
    result = contracts(verb, implementation, part, args)
    for array, before in kept:
        if not np.array_equal(array, before, equal_nan=array.dtype.kind == "f"):
            raise PartError(
                f"{verb.__name__} of {type(part).__name__} must not change what it is given, "
                f"and changed {before} to {array} ({written(implementation)})",
                contracts.kinds.get(type(part), ""),
            )
    return result
