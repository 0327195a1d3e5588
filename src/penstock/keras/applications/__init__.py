"""``tf.keras.applications``: well-known networks for images, described by tables, with layers named as Keras names them."""
