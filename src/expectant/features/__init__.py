"""Features: state-update functions, from tables to tile coding and memory."""

from expectant.core.interfaces import Features
from expectant.features.basis import Fourier, Identity
from expectant.features.bounds import bounds_of
from expectant.features.discrete import Categorical, Interpolated, OneHot, RandomBinary
from expectant.features.tiles import Tiles
from expectant.features.wrappers import History, Joined

__all__ = [
    "Categorical", "Features", "Fourier", "History", "Identity", "Interpolated", "Joined",
    "OneHot", "RandomBinary", "Tiles", "bounds_of",
]  # fmt: skip
