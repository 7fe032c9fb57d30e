"""Options: courses of action, given or learned, to plan and act with."""

from expectant.options.given import BestOption, OneStep, TableOption
from expectant.options.repertoire import Repertoire
from expectant.options.subtasks import RewardRespecting, ShortestPath
from expectant.parts import Option

__all__ = [
    "BestOption",
    "OneStep",
    "Option",
    "Repertoire",
    "RewardRespecting",
    "ShortestPath",
    "TableOption",
]
