"""Agents: the paper's three algorithms, Q-planning, and the model-free and textbook baselines."""

from expectant.agents.cached_policy import CachedPolicy
from expectant.agents.cached_values import CachedValues
from expectant.agents.dyna_q import DynaQ
from expectant.agents.lookahead import Lookahead
from expectant.agents.lspi import LSPI
from expectant.agents.network_values import NetworkValues
from expectant.agents.paper import Interpretation
from expectant.agents.planning_agent import PlanningAgent
from expectant.agents.planning_updates import Gradient, Levi, PlanningUpdate
from expectant.agents.q_learning import QLearning
from expectant.agents.q_planning import QPlanning
from expectant.agents.rvi_q_learning import RVIQLearning
from expectant.agents.sarsa import ExpectedSarsa, Sarsa
from expectant.agents.wrappers import FreezeAfter, GreedyLearning, PlanningOnly
from expectant.core.interfaces import Agent

__all__ = [
    "LSPI", "Agent", "CachedPolicy", "CachedValues", "DynaQ", "ExpectedSarsa",
    "FreezeAfter", "Gradient", "GreedyLearning", "Interpretation", "Levi", "Lookahead",
    "NetworkValues", "PlanningAgent", "PlanningOnly", "PlanningUpdate", "QLearning", "QPlanning",
    "RVIQLearning", "Sarsa",
]  # fmt: skip
