"""``tf.contrib.slim``: training and evaluation loops, input pipelines and networks over ``tf.contrib.layers``."""
