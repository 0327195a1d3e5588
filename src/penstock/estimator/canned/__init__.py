"""Models that are there already: linear, networks, both together, and baselines; their heads know labels, losses and metrics."""
