"""``tf.keras.applications``: well-known image models."""
