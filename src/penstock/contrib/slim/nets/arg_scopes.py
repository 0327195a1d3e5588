"""Argument scopes that networks share: what their convolutions do if nothing else is said."""
from __future__ import annotations

from typing import Any

from penstock.contrib.framework.arg_scope import Scope, arg_scope
from penstock.contrib.layers.batch_norm import batch_norm
from penstock.contrib.layers.connected import fully_connected
from penstock.contrib.layers.convolutions import conv2d
from penstock.contrib.layers.initializers import variance_scaling_initializer
from penstock.contrib.layers.regularizers import l2_regularizer
from penstock.graph.keys import GraphKeys
from penstock.ops.nn.activations import relu


def plain_arg_scope(weight_decay: float, biases_initializer: Any) -> Scope:
    """Rectified layers with biases, padded to keep the size of the image, and a penalty on the weights."""
    with arg_scope([conv2d, fully_connected], activation_fn=relu, weights_regularizer=l2_regularizer(weight_decay),
                   biases_initializer=biases_initializer), arg_scope([conv2d], padding="SAME") as scope:
        return scope


def inception_arg_scope(weight_decay: float, collection: str, normalized: bool = True, decay: float = 0.9997, epsilon: float = 0.001,
                        updates_collections: Any = GraphKeys.UPDATE_OPS, **options: Any) -> Scope:
    """Rectified convolutions with a batch normalisation, whose averages are in a collection of their own."""
    collections = {"beta": None, "gamma": None, "moving_mean": [collection], "moving_variance": [collection]}
    parameters = {"decay": decay, "epsilon": epsilon, "updates_collections": updates_collections, "variables_collections": collections, **options}
    with arg_scope([conv2d, fully_connected], weights_regularizer=l2_regularizer(weight_decay)), \
            arg_scope([conv2d], weights_initializer=variance_scaling_initializer(), activation_fn=relu,
                      normalizer_fn=batch_norm if normalized else None, normalizer_params=parameters if normalized else {}) as scope:
        return scope
