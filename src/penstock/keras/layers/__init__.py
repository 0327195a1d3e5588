"""The layers of ``tf.keras.layers`` that stand on those of ``penstock.layers``."""
