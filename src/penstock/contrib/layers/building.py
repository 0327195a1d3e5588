"""What the layers have in common: their variable scopes, their model variables, and what follows the layer itself."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from penstock.contrib.framework.variables import model_variable
from penstock.contrib.layers.utils import collect_named_outputs, get_variable_collections
from penstock.graph.scopes import add_to_collection, get_collection
from penstock.ops.nn.bias import bias_add
from penstock.variables.modes import VariableAggregation, VariableSynchronization
from penstock.variables.partitioned import PartitionedVariable
from penstock.variables.scope import variable_scope

FORMATS_2D, FORMATS_3D = ("NCHW", "NHWC"), ("NCDHW", "NDHWC")
KERNEL_AND_BIAS = {"bias": "biases", "kernel": "weights"}  # what the layers of tf.layers call the variables of these


def channels(data_format: str | None) -> str:
    """``data_format`` as the layers of tf.layers have it."""
    return "channels_first" if data_format and data_format.startswith("NC") else "channels_last"


def check_format(data_format: Any, formats: tuple[str, str] = FORMATS_2D) -> None:
    """Raises ValueError unless ``data_format`` is one of two."""
    if data_format not in formats:
        raise ValueError(f"data_format has to be either {formats[0]} or {formats[1]}.")


def model_variable_getter(getter: Callable[..., Any], name: str, shape: Any = None, dtype: Any = None, initializer: Any = None,
                          regularizer: Any = None, trainable: bool = True, collections: Any = None, caching_device: Any = None,
                          partitioner: Any = None, rename: dict[str, str] | None = None, use_resource: bool | None = None,
                          synchronization: VariableSynchronization = VariableSynchronization.AUTO,
                          aggregation: VariableAggregation = VariableAggregation.NONE, **_: Any) -> Any:
    """A custom getter for scopes: what layers ask for become model variables, some under other names."""
    scope, slash, own = name.rpartition("/")
    return model_variable(scope + slash + (rename or {}).get(own, own), shape=shape, dtype=dtype, initializer=initializer,
                          regularizer=regularizer, collections=collections, trainable=trainable, caching_device=caching_device,
                          partitioner=partitioner, custom_getter=getter, use_resource=use_resource, synchronization=synchronization,
                          aggregation=aggregation)


def layer_scope(scope: Any, default_name: str, inputs: Any, reuse: Any = None, rename: dict[str, str] | None = None) -> variable_scope:
    """The variable scope of a layer of tf.layers whose variables are model variables."""
    return variable_scope(scope, default_name, [inputs], reuse=reuse, custom_getter=functools.partial(model_variable_getter, rename=rename or {}))


def collect_variable(variable: Any, variables_collections: Any, name: str) -> None:
    """Adds a variable, or all parts of one, to the collections that are given for ``name``; None is left out."""
    if variable is None:
        return
    for collection in get_variable_collections(variables_collections, name) or []:
        for part in variable if isinstance(variable, PartitionedVariable) else [variable]:
            if not any(part is other for other in get_collection(collection)):
                add_to_collection(collection, part)


def finish(outputs: Any, alias: str, outputs_collections: Any, activation_fn: Any = None, normalizer_fn: Any = None,
             normalizer_params: Any = None) -> Any:
    """``outputs``, normalised, activated and collected."""
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    return collect_named_outputs(outputs_collections, alias, outputs)


def with_biases(outputs: Any, number: int, initializer: Any, regularizer: Any, variables_collections: Any, trainable: bool,
                data_format: str = "NHWC") -> Any:
    """``outputs`` plus the model variable ``biases``."""
    biases = model_variable("biases", shape=[number], dtype=outputs.dtype.base_dtype, initializer=initializer, regularizer=regularizer,
                            collections=get_variable_collections(variables_collections, "biases"), trainable=trainable)
    return bias_add(outputs, biases, data_format=data_format)
