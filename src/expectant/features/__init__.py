"""State-update functions: from an observation to a feature vector."""
