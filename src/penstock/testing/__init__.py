"""``tf.test``: test cases with sessions, comparisons of arrays, numeric gradients."""
