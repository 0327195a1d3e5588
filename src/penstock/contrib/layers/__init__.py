"""``tf.contrib.layers``: layers as functions that take part in argument scopes, over the layers of ``penstock.layers``."""
