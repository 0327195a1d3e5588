"""Ragged tensors (``tf.RaggedTensor``, ``tf.ragged``): tensors whose rows have different lengths.

A ragged tensor is a tensor of values and the places at which its rows begin and end (``row_splits``); the values of a deeper one are ragged
themselves. Everything here is composed of operations, so graphs, gradients, sessions and imperative style need to know nothing of it but how such
a value is taken apart (`penstock.graph.composite.CompositeTensor`).
"""
from penstock.ragged import methods as methods
