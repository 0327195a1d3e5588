"""Gradient boosted trees of ``tf.contrib.boosted_trees``: ensembles, examples on their way through them, statistics, growth."""
