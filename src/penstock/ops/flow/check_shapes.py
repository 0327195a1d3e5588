"""Checks of ranks and shapes (``tf.assert_rank``, ...) and of finite values (``tf.add_check_numerics_ops``, ...)."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Operation, Tensor
from penstock.graph.scopes import colocate_with, control_dependencies, name_scope
from penstock.graph.static import constant_value
from penstock.ops.array.passing import CheckNumerics
from penstock.ops.array.shape_ops import Rank, Shape
from penstock.ops.flow.checks import assert_type
from penstock.ops.flow.misc import Assert, group, no_op, with_dependencies
from penstock.ops.math import compare


def assert_rank(x: Any, rank: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """``tf.assert_rank``: an operation that fails unless ``x`` has this rank; ValueError if that is known now."""
    return _one_rank("assert_rank", "must have rank", x, rank, data, summarize, message, name, lambda a, b: a == b, compare.equal)


def assert_rank_at_least(x: Any, rank: Any, data: Any = None, summarize: int | None = None, message: str | None = None,
                         name: str | None = None) -> Operation:
    """``tf.assert_rank_at_least``: an operation that fails unless ``x`` has this rank or a higher one."""
    return _one_rank("assert_rank_at_least", "must have rank at least", x, rank, data, summarize, message, name,
                     lambda a, b: a >= b, compare.greater_equal)


def _one_rank(default_name: str, rule: str, x: Any, rank: Any, data: Any, summarize: int | None, message: str | None, name: str | None,
              static: Callable[[int, int], bool], dynamic: Callable[..., Tensor]) -> Operation:
    with name_scope(name, default_name, [x, rank, *(data or ())]):
        x, rank = to_tensor(x, None, "x"), to_tensor(rank, None, "rank")
        shape = Shape(x)
        assert_type(rank, dt.int32)
        wanted = _known_rank(rank)
        if wanted is not None and x.shape.ndims is not None:
            if not static(x.shape.ndims, wanted):
                raise _wrong_rank(x, rule, wanted, message)
            return no_op("static_checks_determined_all_ok")
        if data is None:
            data = [message or "", f"Tensor {x.name} {rule}", rank, "Received shape: ", shape]
        return Assert(dynamic(_rank_at_run_time(x), rank), data, summarize=summarize)


def _rank_at_run_time(x: Tensor) -> Tensor:
    # TensorFlow spends the name "Rank" on a node that it drops; the next one is what its graphs contain.
    default_graph().unique_name("Rank")
    return Rank(x)


def _known_rank(rank: Tensor) -> int | None:
    if rank.shape.ndims not in (None, 0):
        raise ValueError("Rank must be a scalar.")
    value = constant_value(rank)
    return None if value is None else int(value)


def _wrong_rank(x: Tensor, rule: str, wanted: Any, message: str | None) -> ValueError:
    return ValueError(f"{message or ''}.  Tensor {'' if x.imperative else x.name} {rule} {wanted}.  Received rank {x.shape.ndims}, shape {x.shape}")


def assert_rank_in(x: Any, ranks: Any, data: Any = None, summarize: int | None = None, message: str | None = None,
                   name: str | None = None) -> Operation:
    """``tf.assert_rank_in``: an operation that fails unless the rank of ``x`` is one of ``ranks``."""
    with name_scope(name, "assert_rank_in", [x, *ranks, *(data or ())]):
        x, ranks = to_tensor(x, None, "x"), [to_tensor(rank, None, "rank") for rank in ranks]
        shape = Shape(x)
        for rank in ranks:
            assert_type(rank, dt.int32)
        wanted = [_known_rank(rank) for rank in ranks]
        if None not in wanted and x.shape.ndims is not None:
            if x.shape.ndims not in wanted:
                raise _wrong_rank(x, "must have rank in", tuple(wanted), message)
            return no_op("static_checks_determined_all_ok")
        if data is None:
            data = [message or "", f"Tensor {x.name} must have rank in", *ranks, "Received shape: ", shape]
        actual = _rank_at_run_time(x)
        condition = compare.equal(ranks[0], actual)
        for rank in ranks[1:]:
            condition = compare.logical_or(condition, compare.equal(rank, actual))
        return Assert(condition, data, summarize=summarize)


def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Tensor:
    """``tf.assert_scalar``: the tensor; ValueError, now, if it is not known to be a scalar."""
    with name_scope(name, "assert_scalar", [tensor]) as scope:
        tensor = to_tensor(tensor, None, scope)
        if tensor.shape.ndims != 0:
            prefix = f"{message} " if message else ""
            which = "" if tensor.imperative else f" for {tensor.name}"
            raise ValueError(f"{prefix}Expected scalar shape{which}, saw shape: {tensor.shape}.")
        return tensor


def assert_shapes(shapes: dict[Any, Any], data: Any = None, summarize: int | None = None, message: str | None = None,
                  name: str | None = None) -> Operation:
    """``tf.debugging.assert_shapes``: fails unless each tensor has its shape; equal symbols (strings) stand for equal extents."""
    pairs = list(shapes.items()) if isinstance(shapes, dict) else list(shapes)
    with name_scope(name, "assert_shapes", [tensor for tensor, _ in pairs]):
        sizes: dict[str, tuple[int, str]] = {}
        checks: list[Operation] = []
        for tensor, wanted in pairs:
            tensor = to_tensor(tensor)
            symbols = list(wanted) if isinstance(wanted, (list, tuple)) else [wanted]
            checks.append(assert_rank(tensor, len(symbols), data, summarize, message))
            for axis, symbol in enumerate(symbols):
                check = _check_extent(tensor, axis, symbol, sizes, message, data, summarize)
                checks += [] if check is None else [check]
        return group(*checks) if checks else no_op("static_checks_determined_all_ok")


def _check_extent(tensor: Tensor, axis: int, symbol: Any, sizes: dict[str, tuple[Any, str]], message: str | None, data: Any,
                  summarize: int | None) -> Operation | None:
    """Checks one extent against a number, or against the first extent seen for its symbol."""
    if symbol is None:
        return None
    extent = tensor.shape.extent(axis) if tensor.shape.ndims is not None else None
    actual = extent if extent is not None else Shape(tensor)[axis]
    if isinstance(symbol, str):
        if symbol not in sizes:
            sizes[symbol] = (actual, f"Specified by tensor {tensor.name} dimension {axis}")
            return None
        wanted, origin = sizes[symbol]
    else:
        wanted, origin = int(symbol), "Specified explicitly"
    if isinstance(actual, int) and isinstance(wanted, int):
        if actual != wanted:
            raise ValueError(f"{message or ''}.  {origin}.  Tensor {tensor.name} dimension {axis} must have size {wanted}.  "
                             f"Received size {actual}, shape {tensor.shape}")
        return None
    shown = [message or "", f"{origin}.", f"Tensor {tensor.name} dimension", axis, "must have size", wanted, "Received shape: ", Shape(tensor)]
    return Assert(compare.equal(actual, wanted), data or shown, summarize=summarize)


# --- finite values ---------------------------------------------------------------------------------------------------

def verify_tensor_all_finite(t: Any = None, msg: str | None = None, name: str | None = None, x: Any = None, message: str | None = None) -> Tensor:
    """``tf.verify_tensor_all_finite``: the tensor; InvalidArgumentError with this message if it holds NaN or infinity."""
    tensor, text = t if x is None else x, msg if message is None else message
    with name_scope(name, "VerifyFinite", [tensor]):
        tensor = to_tensor(tensor, None, "x")
        with colocate_with(tensor):
            return with_dependencies([CheckNumerics(tensor, message=text)], tensor)


def add_check_numerics_ops() -> Operation:
    """``tf.add_check_numerics_ops``: an operation that checks every float tensor of the graph for NaN and infinity."""
    if default_graph().imperative:
        raise RuntimeError("add_check_numerics_ops() is not compatible with eager execution. To check for Inf's and NaN's under eager execution, "
                           "call tfe.seterr(inf_or_nan='raise') once before executing the checked operations.")
    checks: list[Tensor] = []
    for op in default_graph().get_operations():
        if op.definition.type in _CONTROL_FLOW:
            raise ValueError("`tf.add_check_numerics_ops() is not compatible with TensorFlow control flow operations such as "
                             f"`tf.cond()` or `tf.while_loop()`. Found: {op.name}")
        for output in op.outputs:
            if output.dtype in (dt.float16, dt.float32, dt.float64):
                with control_dependencies(checks):
                    checks = [CheckNumerics(output, message=f"{op.name}:{output.value_index}")]
    return group(*checks)


_CONTROL_FLOW = frozenset(["Switch", "Merge", "Enter", "Exit", "NextIteration", "While", "StatelessWhile", "If", "StatelessIf"])

