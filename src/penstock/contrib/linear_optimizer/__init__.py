"""``tf.contrib.linear_optimizer``: linear models by stochastic dual coordinate ascent."""
