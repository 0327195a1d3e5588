"""Masks of weights: the variables, the collections that list them, and the weights that they leave."""
from __future__ import annotations

from typing import Any

from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.scopes import add_to_collection, get_collection, name_scope
from penstock.ops.math.elementwise import multiply
from penstock.ops.math.math import zero_fraction
from penstock.variables.initializers import Ones, Zeros
from penstock.variables.scope import get_variable, variable_scope

# Names of TensorFlow's, by which programs ask for the collections.
MASK_COLLECTION, THRESHOLD_COLLECTION, MASKED_WEIGHT_COLLECTION, WEIGHT_COLLECTION = "masks", "thresholds", "masked_weights", "kernel"
MASKED_WEIGHT_NAME = "weights/masked_weight"


def apply_mask(x: Any, scope: Any = "") -> Any:
    """``x`` times a mask of ones, which pruning changes. The mask and its threshold are variables of the scope."""
    shape = to_tensor(x).shape
    mask = mask_variable(shape, scope, x.dtype)
    threshold = threshold_variable(scope, x.dtype)
    masked = multiply(mask, x, MASKED_WEIGHT_NAME)
    collect(mask, threshold, masked, x)
    return masked


def mask_variable(shape: Any, scope: Any, dtype: Any = None) -> Any:
    """The variable ``mask`` of a scope."""
    with name_scope(""), variable_scope(scope):
        return get_variable("mask", shape, initializer=Ones(), trainable=False, dtype=dtype)


def threshold_variable(scope: Any, dtype: Any = None) -> Any:
    """The variable ``threshold`` of a scope: weights below it are masked."""
    with name_scope(""), variable_scope(scope):
        return get_variable("threshold", [], initializer=Zeros(), trainable=False, dtype=dtype)


def collect(mask: Any, threshold: Any, masked: Any, weight: Any) -> None:
    """Lists a mask and what belongs to it in the collections, once: layers that are used again share them."""
    if any(mask is other for other in default_graph().get_collection_ref(MASK_COLLECTION)):
        return
    for collection, value in ((THRESHOLD_COLLECTION, threshold), (MASK_COLLECTION, mask), (MASKED_WEIGHT_COLLECTION, masked),
                              (WEIGHT_COLLECTION, weight)):
        add_to_collection(collection, value)


def get_masks() -> list[Any]:
    """The masks of the graph."""
    return get_collection(MASK_COLLECTION)


def get_thresholds() -> list[Any]:
    """The thresholds of the graph."""
    return get_collection(THRESHOLD_COLLECTION)


def get_masked_weights() -> list[Any]:
    """The weights of the graph, multiplied by their masks."""
    return get_collection(MASKED_WEIGHT_COLLECTION)


def get_weights() -> list[Any]:
    """The weights of the graph that have masks."""
    return get_collection(WEIGHT_COLLECTION)


def get_weight_sparsity() -> list[Any]:
    """Of each masked weight the fraction that is 0."""
    return [zero_fraction(mask) for mask in get_masks()]
