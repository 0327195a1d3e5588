"""``tf.keras.utils``."""
