"""``tf.contrib.losses``: the losses from before ``tf.losses``, and those of metric learning."""
