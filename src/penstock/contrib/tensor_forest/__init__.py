"""Random forests that learn from batches (``tf.contrib.tensor_forest``): parameters, graphs, estimators."""
