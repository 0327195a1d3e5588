"""``tf.contrib.timeseries``: models of series over time, their inputs, and estimators that train, filter and predict with them."""
