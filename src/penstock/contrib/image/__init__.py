"""``tf.contrib.image``: projective transforms of images, and warps by flows and splines."""
