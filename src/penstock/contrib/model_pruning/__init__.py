"""``tf.contrib.model_pruning``: weights are multiplied by masks, which set the smallest of them to 0 while a model trains."""
