"""Reductions of one tensor per device, computed where the first of them is; NCCL is a library for GPUs."""
from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from penstock.contrib import prelude as tf
from penstock.graph.scopes import device
from penstock.ops.math.elementwise import maximum, minimum, multiply


def _on_each(total: tf.Tensor, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
    results = []
    for tensor in tensors:
        with device(tensor.device):
            results.append(tf.identity(total))
    return results


def _check(tensors: Any) -> list[tf.Tensor]:
    if not tensors:
        raise ValueError("Must pass >0 tensors to all reduce operations")
    converted = [tf.convert_to_tensor(each) for each in tensors]
    for each in converted[1:]:
        if each.dtype != converted[0].dtype:
            raise ValueError("all tensors must have the same dtype")
        converted[0].shape.assert_is_compatible_with(each.shape)
    return converted


def _all(combine: Callable[[Any, Any], Any], tensors: Any) -> list[tf.Tensor]:
    given = _check(tensors)
    with device(given[0].device):
        return _on_each(reduce(combine, given), given)


def all_sum(tensors: Any) -> list[tf.Tensor]:
    """``tf.contrib.nccl.all_sum``: the sum, on the device of each tensor."""
    given = _check(tensors)
    return _on_each(reduce_sum(given), given)


def all_prod(tensors: Any) -> list[tf.Tensor]:
    """``tf.contrib.nccl.all_prod``: the product, on the device of each tensor."""
    return _all(multiply, tensors)


def all_min(tensors: Any) -> list[tf.Tensor]:
    """``tf.contrib.nccl.all_min``: the minimum, on the device of each tensor."""
    return _all(minimum, tensors)


def all_max(tensors: Any) -> list[tf.Tensor]:
    """``tf.contrib.nccl.all_max``: the maximum, on the device of each tensor."""
    return _all(maximum, tensors)


def reduce_sum(tensors: Any) -> tf.Tensor:
    """``tf.contrib.nccl.reduce_sum``: the sum, on the device of the first tensor."""
    given = _check(tensors)
    with device(given[0].device):
        return tf.add_n(given)


def broadcast(tensor: Any) -> tf.Tensor:
    """``tf.contrib.nccl.broadcast``: the tensor; its users on other devices receive it."""
    return tf.identity(tensor)
