"""``tf.contrib.opt``: optimizers beyond those of ``tf.train``, optimizers around others, and SciPy's."""
