"""Inputs of ``tf.contrib.learn``: data frames, files of records."""
