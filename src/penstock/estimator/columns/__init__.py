"""``tf.feature_column``: from the features of examples to tensors that a model computes with."""
