"""Options: courses of action that are followed until they stop, and models of them."""
