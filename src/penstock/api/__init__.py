"""The TensorFlow 1 face: which public name is which object, one table per namespace; and the ``tensorflow`` alias."""
