"""Options: temporally extended actions, given or learned, to plan and act with."""

from expectant.core.interfaces import Option
from expectant.options.option_set import OptionSet
from expectant.options.subtasks import RewardRespecting, ShortestPath
from expectant.options.table_option import BestOption, TableOption

__all__ = [
    "BestOption", "Option", "OptionSet", "RewardRespecting", "ShortestPath", "TableOption",
]  # fmt: skip
