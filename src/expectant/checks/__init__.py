"""Checks of users' components before they are compiled, with mistakes in one sentence."""
