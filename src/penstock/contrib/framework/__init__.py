"""``tf.contrib.framework``: default arguments by scope, model variables, and values that come from checkpoints."""
