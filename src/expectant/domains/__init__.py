"""Worlds to act in."""
