"""The laboratory: studies as data, their trials, measures of what came out, and claims."""
