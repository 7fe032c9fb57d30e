"""Models of the world to plan with."""
