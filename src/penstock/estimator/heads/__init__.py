"""Heads: what stands on the logits of a model; ``tf.estimator.Head`` and its kinds, which ``tf.contrib.estimator`` makes by functions."""
