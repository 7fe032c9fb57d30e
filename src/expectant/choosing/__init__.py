"""Choosing among the settings of a sweep: reading its folder, two stages, and what is written."""
