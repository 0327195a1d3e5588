"""``tf.metrics``: each metric is a pair of its value over all batches so far, and an op that adds a batch."""
