"""``tf.contrib.boosted_trees``: gradient boosted trees as estimators of ``tf.contrib.learn``."""
