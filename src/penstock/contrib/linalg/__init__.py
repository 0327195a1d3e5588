"""``tf.linalg.LinearOperator*``: matrices that are never written out."""
