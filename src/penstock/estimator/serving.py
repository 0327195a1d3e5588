"""Inputs of exported models: receivers, and functions that make them for serialized examples or for tensors by name."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.estimator.input_results import features_and_labels
from penstock.graph import dtypes
from penstock.graph.composite import SparseTensor
from penstock.graph.graph import Graph
from penstock.graph.node import Tensor
from penstock.ops.constant import placeholder, placeholder_with_default
from penstock.ops.text.parsing import parse_example


class _Receiver(NamedTuple):
    features: Any
    receiver_tensors: dict[str, Any]
    receiver_tensors_alternatives: dict[str, dict[str, Any]] | None


class ServingInputReceiver(_Receiver):
    """``tf.estimator.export.ServingInputReceiver``: features by name, and the tensors that a server feeds for them."""

    def __new__(cls, features: Any, receiver_tensors: Any, receiver_tensors_alternatives: Any = None) -> ServingInputReceiver:
        """Checks the tensors; a single one is called "feature", or "input" in the signature."""
        if features is None:
            raise ValueError("features must be defined.")
        named = features if isinstance(features, dict) else {"feature": features}
        for name, tensor in named.items():
            _check("feature", name, tensor)
        return super().__new__(cls, named, _checked_receivers(receiver_tensors), _checked_alternatives(receiver_tensors_alternatives))


class TensorServingInputReceiver(_Receiver):
    """``tf.estimator.export.TensorServingInputReceiver``: one feature that the model function gets as it is, not in a dict."""

    def __new__(cls, features: Any, receiver_tensors: Any, receiver_tensors_alternatives: Any = None) -> TensorServingInputReceiver:
        """Checks the tensors."""
        if features is None:
            raise ValueError("features must be defined.")
        _check("feature", "feature", features)
        return super().__new__(cls, features, _checked_receivers(receiver_tensors), _checked_alternatives(receiver_tensors_alternatives))


class SupervisedInputReceiver(NamedTuple):
    """Features and labels of a model that is exported to be trained or evaluated."""

    features: Any
    labels: Any
    receiver_tensors: dict[str, Any]


def _check(what: str, name: Any, tensor: Any, keys: tuple[type, ...] = (str, int)) -> None:
    if not isinstance(name, keys):
        raise ValueError(f"{what} keys must be strings{' or ints' if int in keys else ''}: {name}.")
    if not isinstance(tensor, (Tensor, SparseTensor)):
        raise ValueError(f"{what} {name} must be a Tensor or SparseTensor.")


def _checked_receivers(tensors: Any) -> dict[str, Any]:
    if tensors is None:
        raise ValueError("receiver_tensors must be defined.")
    named = tensors if isinstance(tensors, dict) else {"input": tensors}
    for name, tensor in named.items():
        _check("receiver_tensor", name, tensor, keys=(str,))
    return named


def _checked_alternatives(alternatives: Any) -> dict[str, dict[str, Any]] | None:
    if alternatives is None:
        return None
    if not isinstance(alternatives, dict):
        raise ValueError(f"receiver_tensors_alternatives must be a dict: {alternatives}.")
    return {name: _checked_receivers(tensors) for name, tensors in alternatives.items()}


def build_parsing_serving_input_receiver_fn(feature_spec: dict[str, Any],
                                            default_batch_size: int | None = None) -> Callable[[], ServingInputReceiver]:
    """``tf.estimator.export.build_parsing_serving_input_receiver_fn``: the model is fed serialized ``tf.train.Example`` records."""
    def serving_input_receiver_fn() -> ServingInputReceiver:
        serialized = placeholder(dtypes.string, [default_batch_size], name="input_example_tensor")
        return ServingInputReceiver(parse_example(serialized, feature_spec), {"examples": serialized})
    return serving_input_receiver_fn


def build_raw_serving_input_receiver_fn(features: dict[str, Any], default_batch_size: int | None = None) -> Callable[[], ServingInputReceiver]:
    """``tf.estimator.export.build_raw_serving_input_receiver_fn``: the model is fed its features, tensors like those of ``features``."""
    def serving_input_receiver_fn() -> ServingInputReceiver:
        receivers = _placeholders(features, default_batch_size)
        return ServingInputReceiver(dict(receivers), receivers)
    return serving_input_receiver_fn


def build_raw_supervised_input_receiver_fn(features: Any, labels: Any, default_batch_size: int | None = None) -> Callable[[], Any]:
    """``tf.estimator.experimental.build_raw_supervised_input_receiver_fn``: the model is fed features and labels."""
    if isinstance(features, dict) and isinstance(labels, dict) and features.keys() & labels.keys():
        raise ValueError(f"Features and labels must have distinct keys. Found overlapping keys: {sorted(features.keys() & labels.keys())}")

    def supervised_input_receiver_fn() -> SupervisedInputReceiver:
        given = _placeholders(features if isinstance(features, dict) else {"input": features}, default_batch_size)
        wanted = _placeholders(labels if isinstance(labels, dict) else {"label": labels}, default_batch_size)
        return SupervisedInputReceiver(dict(given) if isinstance(features, dict) else given["input"],
                                       dict(wanted) if isinstance(labels, dict) else wanted["label"], {**given, **wanted})
    return supervised_input_receiver_fn


def build_supervised_input_receiver_fn_from_input_fn(input_fn: Callable[..., Any], **input_fn_args: Any) -> Callable[[], Any]:
    """``tf.contrib.estimator.build_supervised_input_receiver_fn_from_input_fn``: placeholders like what an input function returns."""
    with Graph().as_default():
        features, labels, _ = features_and_labels(input_fn(**input_fn_args))
    return build_raw_supervised_input_receiver_fn(features, labels)


def _placeholders(tensors: dict[str, Any], batch_size: int | None) -> dict[str, Any]:
    """A placeholder for each tensor, of its type and shape but for the size of the batch."""
    made = {}
    for name, tensor in tensors.items():
        shape = tensor.shape.as_list()
        shape[0] = batch_size
        if tensor.op.type == "PlaceholderWithDefault":
            made[name] = placeholder_with_default(tensor.op.inputs[0], shape, name=tensor.op.name)
        else:
            made[name] = placeholder(tensor.dtype, shape, name=tensor.op.name)
    return made
