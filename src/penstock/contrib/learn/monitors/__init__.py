"""``tf.contrib.learn.monitors``: what looks at training, from before hooks."""
