"""``tf.keras.wrappers``: models in the dress of other libraries."""
