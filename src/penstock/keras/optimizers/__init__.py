"""``tf.keras.optimizers``."""
