"""``tf.contrib.quantize``: graphs rewritten so that they train, and run, as integers of few bits would."""
