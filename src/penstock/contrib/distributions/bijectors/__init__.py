"""``tf.contrib.distributions.bijectors``: invertible functions that know their Jacobians."""
