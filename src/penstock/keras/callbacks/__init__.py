"""``tf.keras.callbacks``: what is called while a model trains."""
