"""Choosing among the settings of a sweep, in two stages."""
