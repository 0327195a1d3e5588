"""``tf.contrib.eager``: what programs of imperative style used before it became a part of the core."""
