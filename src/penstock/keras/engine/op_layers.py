"""Operations between layers as layers: ``a + b`` of two outputs of layers can be part of a model, too.

Each operation between tensors of a model becomes a TensorFlowOpLayer, which adds the same operation for other inputs. Inputs of an operation that
do not come from the model are constants of that layer. Importing this module switches it on (``connectors``, ``metric_adders``).
"""
from __future__ import annotations

from typing import Any

import numpy as np
from google.protobuf import json_format
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef

from penstock.graph import dtypes, nest
from penstock.graph.graph import default_graph
from penstock.graph.graph_def import import_graph_def
from penstock.graph.node import Tensor
from penstock.graph.opdef import lookup
from penstock.keras.metrics.means import Mean
from penstock.layers.base import Layer
from penstock.layers.effects import metric_adders
from penstock.layers.nodes import connectors, history_of
from penstock.layers.sessions import initialized_session
from penstock.ops.constant import constant

_PREFIX = "tf_op_layer_"


class TensorFlowOpLayer(Layer):
    """One operation, described by its NodeDef; ``constants`` are the inputs that are not the model's, by their places."""

    _autocast = False

    def __init__(self, node_def: Any, name: str, constants: dict[Any, Any] | None = None, trainable: bool = True, dtype: Any = None) -> None:
        super().__init__(name=_PREFIX + name, trainable=trainable, dtype=dtype)
        if isinstance(node_def, dict):
            self.node_def = json_format.ParseDict(node_def, NodeDef())
        else:
            self.node_def = node_def if isinstance(node_def, NodeDef) else NodeDef.FromString(node_def)
        self.constants = {int(index): value for index, value in (constants or {}).items()}
        self.built = True

    def call(self, inputs: Any) -> Any:
        """The operation, on these inputs and the constants."""
        tensors = list(nest.flatten(inputs))
        for index, value in sorted(self.constants.items()):
            tensors.insert(index, value if isinstance(value, Tensor) else constant(value, _input_type(self.node_def, index)))
        node = NodeDef()
        node.CopyFrom(self.node_def)
        node.name = default_graph().unique_name(node.name, mark_as_used=False)
        del node.input[:]
        node.input.extend(f"_input_{index}" for index in range(len(tensors)))
        places = {f"_input_{index}:0": tensor for index, tensor in enumerate(tensors)}
        (operation,) = import_graph_def(GraphDef(node=[node]), input_map=places, return_elements=[node.name], name="")  # type: ignore[misc]
        outputs = operation.outputs  # type: ignore[union-attr]
        return outputs[0] if len(outputs) == 1 else list(outputs)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), "name": self.name[len(_PREFIX):], "node_def": json_format.MessageToDict(self.node_def),
                "constants": {index: np.asarray(value).tolist() for index, value in self.constants.items()}}


def _input_type(node: NodeDef, index: int) -> Any:
    """The type of an input of a node, where its attributes tell; lists in configurations have forgotten theirs."""
    definition = lookup(node.op)
    types = [arg.dtype or (dtypes.as_dtype(node.attr[arg.type_attr].type) if arg.type_attr else None)
             for arg in definition.inputs for _ in range(node.attr[arg.number_attr].i if arg.number_attr else 1)]
    return types[index] if index < len(types) else None


class AddLoss(Layer):
    """Adds its input to the losses of the model: ``model.add_loss(tensor)`` as a layer."""

    _autocast = False

    def __init__(self, unconditional: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.unconditional = unconditional

    def call(self, inputs: Any) -> Any:
        """The input."""
        self.add_loss(inputs, inputs=None if self.unconditional else True)
        return inputs

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), "unconditional": self.unconditional}


class AddMetric(Layer):
    """Adds its input to the metrics of the model: ``model.add_metric(tensor, ...)`` as a layer."""

    _autocast = False

    def __init__(self, aggregation: str | None = None, metric_name: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.aggregation, self.metric_name = aggregation, metric_name

    def call(self, inputs: Any) -> Any:
        """The input."""
        self.add_metric(inputs, self.aggregation, self.metric_name)
        return inputs

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), "aggregation": self.aggregation, "metric_name": self.metric_name}


def _add_metric(layer: Layer, value: Any, aggregation: str | None, name: str | None) -> None:
    """Has a layer report ``value``: the mean over batches, or, without aggregation, the last one."""
    if aggregation not in (None, "mean"):
        raise ValueError(f"We currently support only `mean` sample-wise metric aggregation. You provided aggregation=`{aggregation}`")
    metric = next((each for each in layer._metrics if each._call_result is value), None)
    if metric is not None:
        return
    if name is None:
        raise ValueError("Please provide a name for your metric like `self.add_metric(tf.reduce_sum(inputs), name='mean_activation', "
                         "aggregation='mean')`")
    known = next((each for each in layer._metrics if each.name == name), None)
    if known is None:
        known = Mean(name=name, dtype=value.dtype.base_dtype)
        layer._metrics.append(known)
    known(value)


# --- histories -------------------------------------------------------------------------------------------------------


def connect_ops(tensors: list[Any]) -> None:
    """Makes layers of the operations between the tensors of a model and ``tensors``, so that these have a history."""
    for tensor in tensors:
        if isinstance(tensor, Tensor) and history_of(tensor) is None and _comes_from_input(tensor):
            _connect(tensor)


def _comes_from_input(tensor: Tensor) -> bool:
    """Whether a tensor is computed of one that a layer of a model returned."""
    pending, seen = [tensor], {tensor}
    while pending:
        each = pending.pop()
        if history_of(each) is not None:
            return True
        new = set(each.op.inputs) - seen
        seen |= new
        pending += new
    return False


def _connect(tensor: Tensor) -> None:
    if history_of(tensor) is not None:
        return
    operation = tensor.op
    inputs, constants = [], {}
    for index, value in enumerate(operation.inputs):
        if _comes_from_input(value):
            _connect(value)
            inputs.append(value)
        else:
            constants[index] = initialized_session().run(value)
            default_graph().imply(1)  # of the function that TensorFlow makes for that
    layer = TensorFlowOpLayer(operation.node_def, constants=constants, name=operation.name)
    layer._add_inbound_node(inputs[0] if len(inputs) == 1 else inputs, list(operation.outputs))


connectors.append(connect_ops)
metric_adders.append(_add_metric)
