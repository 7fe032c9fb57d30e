"""Agents: the paper's three algorithms and its baselines."""
