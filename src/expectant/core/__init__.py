"""Foundations that every other folder may use."""
