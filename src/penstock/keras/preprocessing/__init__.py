"""``tf.keras.preprocessing``."""
