"""``tf.keras.metrics``: values that add up over batches."""
