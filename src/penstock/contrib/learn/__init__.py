"""``tf.contrib.learn``: estimators from before ``tf.estimator``, over its training loop, evaluation and exports; experiments and monitors."""
