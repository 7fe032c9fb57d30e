"""Agents side by side in one domain, on the same seeds."""
