"""Experiments as data: specs, cells, and a store that survives interruptions."""
