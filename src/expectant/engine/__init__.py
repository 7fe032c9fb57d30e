"""Running agents in domains: the loop, its compiled form, many runs at once."""
