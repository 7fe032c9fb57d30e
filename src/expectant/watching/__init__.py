"""Watching one agent learn: values, policy and model over the states, frame by frame."""
