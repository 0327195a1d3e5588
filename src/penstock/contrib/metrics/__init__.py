"""``tf.contrib.metrics``: the metrics from before ``tf.metrics``, and those that never moved there."""
