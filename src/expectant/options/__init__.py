"""Options: courses of action, given or learned, to plan and act with."""

from expectant.core.interfaces import Option
from expectant.options.tabular import BestOption, OneStep, TableOption
from expectant.options.option_set import Repertoire
from expectant.options.subtasks import RewardRespecting, ShortestPath

__all__ = [
    "BestOption",
    "OneStep",
    "Option",
    "Repertoire",
    "RewardRespecting",
    "ShortestPath",
    "TableOption",
]
