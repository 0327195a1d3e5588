"""``tf.keras.mixed_precision.experimental``."""
