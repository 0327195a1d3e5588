"""``tf.distributions`` and ``tf.contrib.distributions``: random variables as objects, and the bijections between them.

A graph of TensorFlow's that draws without a seed of its own depends on how many nodes were made before. So these classes add the nodes that
TensorFlow 1.15 adds, in its order and under its names: the same program then draws the same numbers.
"""
