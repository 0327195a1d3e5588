"""Where fake quantisation goes: behind the weights of each layer, behind its activation, and behind sums of several layers."""
from __future__ import annotations

from typing import Any, NamedTuple

from penstock.contrib import prelude as tf
from penstock.contrib.quantize.fake_quant import fake_quantize, quantization_step
from penstock.contrib.quantize.matching import Match, anything, consumers_by_op, either, op, reroute, search
from penstock.graph.node import Operation
from penstock.platform import logging

_LAYERS, _ADD, _RELUS = "Conv2D|MatMul|DepthwiseConv2dNative", "Add|AddV2", ("Relu", "Relu6")
_VARIABLE = op("Variable|VariableV2")
_PART = op("Identity", _VARIABLE)
_WEIGHTS = either(op("Identity", either(_PART, op("ConcatV2", _PART, anything, anything), _VARIABLE), name="weights"),
                  op("ReadVariableOp", name="weights"), op("Mul", name="weights"))
_LAYER = op(_LAYERS, anything, _WEIGHTS, ordered=False, name="layer")
_OUTPUT = either(op("BatchToSpaceND", _LAYER, anything, anything), _LAYER)
_BIAS = op(f"{_ADD}|BiasAdd", _OUTPUT, anything, ordered=False, name="bias")
_CORRECTED = op(_ADD, op("Mul", anything, _OUTPUT, ordered=False), anything, ordered=False)
_FOLDED = op(_ADD, _CORRECTED, anything, ordered=False, name="bias")
_FOLDED_IDENTITY = op("Identity", _FOLDED)
_BYPASS = op(_ADD, either(_BIAS, _FOLDED, _FOLDED_IDENTITY), anything, ordered=False, name="bypass")
_ACTIVATION = op("Relu|Relu6|Identity", either(_BIAS, _FOLDED, _FOLDED_IDENTITY, _BYPASS, _LAYER), name="activation")
_AFTER = op(_ADD, anything, _ACTIVATION, ordered=False, name="after")
_SEPARABLE = op(_LAYERS, _OUTPUT, anything, ordered=False)
_FAKE = ("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVarsPerChannel")
_PASSING = ("Reshape", "Identity", "BatchToSpaceND", "SpaceToBatchND", "MaxPool", "Max")


class QuantizeOptions(NamedTuple):
    """How a graph is quantised."""

    is_training: bool
    weight_bits: int = 8
    activation_bits: int = 8
    symmetric: bool = False
    delay: int | None = None
    scope: str | None = None
    ema_decay: float = 0.999


class _Place(NamedTuple):
    """A place for fake quantisation: behind ``producer``, for ``users``."""

    context: str
    name: str
    producer: Operation
    users: list[Operation]
    in_scope: str = "both"  # what must be in the scope that was asked for: producer, users, both


def quantize_layers(graph: Any, options: QuantizeOptions) -> None:
    """Puts fake quantisation into a graph."""
    users = consumers_by_op(graph)
    done: set[Operation] = set()
    for match in _layer_matches(graph):
        _quantize_layer(match, users, done, options)
    users = consumers_by_op(graph)
    for node in graph.get_operations():
        if _is_sum_of_quantized(node, done):
            _insert(_Place(node.name, f"activation_{node.type}_quant", node, users.get(node, []), "producer"), options._replace(symmetric=False))


def _layer_matches(graph: Any) -> list[Match]:
    """Each layer once, with the most that can be said of what follows it."""
    matches: dict[Operation, Match] = {}
    for match in search(graph, _AFTER):
        matches.setdefault(match["layer"], match)
    for match in search(graph, _ACTIVATION):
        if match["layer"] not in matches and not _feeds_batch_norm(match["activation"]):
            matches[match["layer"]] = match
    for match in search(graph, either(_BIAS, _FOLDED)):
        matches.setdefault(match["layer"], {"layer": match["layer"], "weights": match["weights"], "activation": match["bias"]})
    for match in search(graph, _SEPARABLE):
        weights = match["weights"] if match["weights"].type != "Mul" else None
        matches.setdefault(match["layer"], {"layer": match["layer"], "weights": weights, "activation": match["layer"]})
    return list(matches.values())


def _feeds_batch_norm(activation: Operation) -> bool:
    users = activation.outputs[0].consumers()
    return activation.type == "Identity" and len(users) == 1 and users[0].type in ("FusedBatchNorm", "FusedBatchNormV3")


def _parent(name: str) -> str:
    return name.rpartition("/")[0]


def _quantize_layer(match: Match, users: dict[Operation, list[Operation]], done: set[Operation], options: QuantizeOptions) -> None:
    context, bypass, after = _parent(match["layer"].name), match.get("bypass"), match.get("after")
    if match["weights"] is not None:
        _insert(_Place(context, "weights_quant", match["weights"], users.get(match["weights"], []), "users"), options, weights=True)
    outer = context if bypass is None else _parent(context)
    activation = match["activation"]
    _insert(_Place(outer, "act_quant", activation, users.get(activation, []), "producer"), options, init_min=0.0)
    done.add(activation)
    if bypass is not None:
        _insert(_Place(context, "conv_quant", match["bias"], users.get(match["bias"], [])), options)
        done.add(match["bias"])
        if not any(user.type in ("Relu", "Relu6", "Identity") for user in users.get(bypass, [])):
            _insert(_Place(outer, "add_quant", bypass, users.get(bypass, [])), options)
            done.add(bypass)
    if after is not None and not any(user.type in _RELUS for user in users.get(after, [])):
        _insert(_Place(_parent(after.name), "post_activation_bypass_quant", after, users.get(after, []), "producer"), options)
        done.add(after)


def _is_sum_of_quantized(node: Operation, done: set[Operation]) -> bool:
    """True for a sum or product of values that are quantised, unless an activation follows it."""
    if node in done or node.type not in ("Add", "AddV2", "Mul"):
        return False
    users = node.outputs[0].consumers()
    if len(users) == 1 and users[0].type in _RELUS:
        return False
    for tensor in node.inputs:
        source = tensor.op
        while source.type in _PASSING:
            source = source.inputs[0].op
        if source.type == "FakeQuantWithMinMaxVars" or "delayed_quant/" in source.name:
            return True
        if source.type in ("Add", "AddV2", "Mul") and any(_is_sum_of_quantized(inner.op, done) for inner in source.inputs):
            return True
    return False


def _is_quantized(tensor: tf.Tensor) -> bool:
    pending = list(tensor.consumers())
    while pending:
        user = pending.pop()
        if user.type in _FAKE:
            return True
        if user.type in ("Reshape", "Identity"):
            pending += [each for output in user.outputs for each in output.consumers()]
    return False


def _insert(place: _Place, options: QuantizeOptions, weights: bool = False, init_min: float = -6.0) -> None:
    inputs, scope = place.producer.outputs[0], options.scope
    outside = [node for node in ([place.producer] if place.in_scope != "users" else []) + (place.users if place.in_scope != "producer" else [])
               if scope and not node.name.startswith(scope)]
    if outside:
        logging.info("%s/%s is not quantized: %s is not in scope %s", place.context, place.name, outside[0].name, scope)
        return
    if _is_quantized(inputs):
        return
    prefix = f"{place.context}/{place.name}" if place.context else place.name
    current = tf.get_default_graph().get_name_scope()
    prefix = prefix.removeprefix(f"{current}/") if current else prefix
    quantized = fake_quantize(inputs, prefix, options.is_training, options.weight_bits if weights else options.activation_bits, options.symmetric,
                              narrow_range=weights, init_min=init_min, ema_decay=None if weights else options.ema_decay,
                              collection=tf.GraphKeys.GLOBAL_VARIABLES)
    if options.delay:
        begun, exact = tf.greater_equal(quantization_step(), options.delay, name=f"{prefix}/activate_quant"), quantized
        quantized = tf.cond(begun, lambda: exact, lambda: inputs, name=f"{prefix}/delayed_quant")
    if place.users and reroute(quantized, inputs, place.users) < len(place.users):
        raise ValueError(f"No inputs quantized for ops: [{', '.join(user.name for user in place.users)}]")
