"""Experiments as data: specs, what they vary, and the cells they mean."""
