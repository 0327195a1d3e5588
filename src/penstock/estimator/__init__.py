"""``tf.estimator`` and ``tf.feature_column``: training that is described by a model function, columns and a configuration."""
