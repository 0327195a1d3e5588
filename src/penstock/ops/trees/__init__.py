"""Boosted trees: ensembles, the statistics that they are grown from, and the quantiles of float features."""
