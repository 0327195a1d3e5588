"""``tf.contrib``, as far as it stands on nothing but operations: distributions, signals, images, ..."""
