"""``tf.keras.datasets``, read from local files."""
