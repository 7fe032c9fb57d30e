"""The laboratory: studies as data, their trials, metrics of what came out, and claims."""
