"""The feature columns of ``tf.contrib.layers``, from before ``tf.feature_column``."""
