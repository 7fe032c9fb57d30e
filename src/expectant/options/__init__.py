"""Options: courses of action, given or learned, to plan and act with."""

from expectant.core.interfaces import Option
from expectant.options.option_set import OptionSet
from expectant.options.subtasks import RewardRespecting, ShortestPath
from expectant.options.tabular import BestOption, OneStep, TableOption

__all__ = [
    "BestOption",
    "OneStep",
    "Option",
    "OptionSet",
    "RewardRespecting",
    "ShortestPath",
    "TableOption",
]
