"""``tf.contrib.gan``: generative adversarial networks as tuples of tensors, their losses, and what trains both networks in turn."""
