"""Boosted trees as estimators: how columns become buckets, how ensembles grow, and what explains their predictions."""
