"""``tf.keras.backend``: small functions on tensors, as Keras spells them."""
