"""``tf.contrib.training``: hyperparameters, loops that train and evaluate, batches by length, resampling."""
