"""The laboratory: studies as data, their cells, measures of what came out, and claims."""
