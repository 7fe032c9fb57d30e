"""Animations of one run: frames, panels, files."""
