"""The functions of ``tf.contrib.quantize``: a graph is rewritten in place, before its gradients are made."""
from __future__ import annotations

import re
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.quantize.batch_norms import fold_batch_norms
from penstock.contrib.quantize.layers import QuantizeOptions, quantize_layers

_APPLIES = re.compile("(Resource)?(Sparse)?Apply")  # the steps of optimizers


def create_training_graph(input_graph: Any = None, quant_delay: int = 0) -> None:
    """``tf.contrib.quantize.create_training_graph``: from step ``quant_delay`` on, training sees values of 8 bits."""
    _rewrite(input_graph, QuantizeOptions(True, delay=quant_delay))


def create_eval_graph(input_graph: Any = None) -> None:
    """``tf.contrib.quantize.create_eval_graph``: computes with the ranges that training has found."""
    _rewrite(input_graph, QuantizeOptions(False))


def experimental_create_training_graph(input_graph: Any = None, weight_bits: int = 8, activation_bits: int = 8, symmetric: bool = False,
                                       quant_delay: int = 0, freeze_bn_delay: int | None = None, scope: str | None = None) -> None:
    """``create_training_graph`` with other numbers of bits, ranges around 0, for a part of the graph; norms are frozen from a step on."""
    _rewrite(input_graph, QuantizeOptions(True, weight_bits, activation_bits, symmetric, quant_delay, scope), freeze_bn_delay)


def experimental_create_eval_graph(input_graph: Any = None, weight_bits: int = 8, activation_bits: int = 8, symmetric: bool = False,
                                   quant_delay: int | None = None, scope: str | None = None) -> None:
    """``create_eval_graph`` with other numbers of bits, ranges around 0, for a part of the graph."""
    _rewrite(input_graph, QuantizeOptions(False, weight_bits, activation_bits, symmetric, quant_delay, scope))


def _rewrite(graph: Any, options: QuantizeOptions, freeze_delay: int | None = None) -> None:
    graph = graph or tf.get_default_graph()
    updates = sorted({node.type for node in graph.get_operations() if _APPLIES.match(node.type)})
    if updates:
        raise ValueError(f"Training op found in graph, exiting {set(updates)}: rewrite the graph before an optimizer is called")
    if options.scope and not options.scope.endswith("/"):
        options = options._replace(scope=options.scope + "/")
    with graph.as_default():
        fold_batch_norms(graph, freeze_delay)
        quantize_layers(graph, options)
