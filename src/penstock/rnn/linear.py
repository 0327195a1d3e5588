"""A linear map of several tensors, whose variables lie in the current variable scope: a part of cells."""
from __future__ import annotations

from typing import Any

from penstock.graph import nest
from penstock.ops.array.pack import concat
from penstock.ops.linalg.matmul import matmul
from penstock.ops.nn.bias import bias_add
from penstock.variables.initializers import Zeros
from penstock.variables.scope import get_variable, get_variable_scope, variable_scope


class Linear:
    """``W [args...] + b`` for matrices of the same batch. The variables, ``kernel`` and ``bias``, are made at once, for the sizes of ``args``."""

    def __init__(self, args: Any, output_size: int, build_bias: bool, bias_initializer: Any = None, kernel_initializer: Any = None) -> None:
        if args is None or (nest.is_sequence(args) and not args):
            raise ValueError("`args` must be specified")
        self._build_bias, args = build_bias, args if nest.is_sequence(args) else [args]
        depth = sum(_depth(tensor) for tensor in args)
        dtype = args[0].dtype.base_dtype
        with variable_scope(get_variable_scope()) as scope:
            self._kernel = get_variable("kernel", [depth, output_size], dtype=dtype, initializer=kernel_initializer)
            if build_bias:
                with variable_scope(scope) as inner:
                    inner.set_partitioner(None)
                    self._bias = get_variable("bias", [output_size], dtype=dtype, initializer=bias_initializer or Zeros(dtype=dtype))

    def __call__(self, args: Any) -> Any:
        """The map of other tensors of the same sizes."""
        args = args if nest.is_sequence(args) else [args]
        result = matmul(args[0] if len(args) == 1 else concat(args, 1), self._kernel)
        return bias_add(result, self._bias) if self._build_bias else result


def _depth(tensor: Any) -> int:
    if tensor.shape.ndims != 2:
        raise ValueError(f"linear is expecting 2D arguments: {tensor.shape}")
    depth = tensor.shape.as_list()[1]
    if depth is None:
        raise ValueError(f"linear expects shape[1] to be provided for shape {tensor.shape}, but saw None")
    return depth


def linear(args: Any, output_size: int, bias: bool, bias_initializer: Any = None, kernel_initializer: Any = None, **_: Any) -> Any:
    """The map and its variables in one call, as old programs use it."""
    return Linear(args, output_size, bias, bias_initializer, kernel_initializer)(args)
