"""Computing blocks of runs: on threads, or on a cluster."""
