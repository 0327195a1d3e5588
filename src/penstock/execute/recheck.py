"""What was unknown while the graph was built is checked when it is known: the op's shape function is asked again, with the real inputs.

So kernels need not repeat the checks of their shape functions, a wrong shape is an error instead of a wrong result, and the message
(``Dimensions must be equal, but are 2 and 3``) is the one that the user would have got earlier, had the shapes been known. Where TensorFlow's kernels
have words of their own for it, which programs and people look for (``Incompatible shapes: [2] vs. [3]``), it is these.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.errors import KernelError, invalid_argument
from penstock.graph.dtypes import DType
from penstock.graph.graph import Graph, Tensor
from penstock.graph.shape import TensorShape, brackets
from penstock.ops.constant import Const, Placeholder
from penstock.ops.transfer import Arg
from penstock.program.ir import Node
from penstock.state.resources import Ref

Kernel = Callable[..., Any]
_MOST_SHAPES = 1024  # that are remembered for a node
_MOST_ELEMENTS = 1024  # of a shape, of axes, of indices: of what shape functions look at


def kernel_with_check(node: Node, kernel: Kernel) -> Kernel:
    """The kernel, behind a check of its inputs' shapes where they were not known before. Shapes that passed are not checked again: a step on rows
    of a table has other shapes each time, but not many."""
    if not _is_open(node):
        return kernel
    passed: set[tuple[Any, ...]] = set()

    def check_and_run(*inputs: Any, **options: Any) -> Any:
        shapes = tuple([getattr(value, "shape", None) for value in inputs])
        if shapes not in passed:
            problem = complaint(node, list(inputs))
            if problem is not None:
                raise _own_complaint(node, kernel, inputs, options) or invalid_argument(problem)
            if len(passed) >= _MOST_SHAPES:
                passed.clear()
            passed.add(shapes)
        return kernel(*inputs, **options)

    return check_and_run


def kernel_words(node: Node, kernel: Kernel, inputs: list[Any]) -> str | None:
    """What TensorFlow's kernel says about inputs of shapes that do not fit; None if it has no words of its own."""
    own = _own_complaint(node, kernel, tuple(inputs), {})
    if own is not None:
        return own.message
    return _not_broadcast(node, inputs) or _of_another_rank(node, inputs)


def _own_complaint(node: Node, kernel: Kernel, inputs: tuple[Any, ...], options: dict[str, Any]) -> KernelError | None:
    """What the kernel itself has to say about inputs of wrong shapes; None if it has no words for it. One with effects is not asked."""
    if node.definition.stateful:
        return None
    try:
        kernel(*inputs, **options)
    except KernelError as error:
        return error
    except (ValueError, TypeError, LookupError, ArithmeticError):  # NumPy's own words, or no kernel
        return None
    return None


def _is_open(node: Node) -> bool:
    """True if the shape function knew too little to reject what does not fit: some of several inputs, or one that is not taken as it is.

    It is not asked about inputs that the compiler has added.
    """
    if node.origin is None or not node.inputs or node.generators:
        return False
    if node.definition.elementwise and len(node.inputs) < 2 and _shape_of(node.origin.outputs) == _shape_of(node.origin.inputs):
        return False
    return any(not tensor.shape.is_fully_defined() for tensor in node.origin.inputs)


def _shape_of(tensors: Any) -> Any:
    return tensors[0].shape.extents


def complaint(node: Node, inputs: list[Any]) -> str | None:
    """What the op's shape function says against the inputs of its kernel; None if it agrees with them."""
    try:
        with Graph().as_default() as graph:
            tensors = tuple(_stand_in(graph, edge, value) for edge, value in zip(node.inputs, inputs))
            node.definition.add_node(graph, node.name, tensors, node.attrs)
    except ValueError as error:
        return _not_broadcast(node, inputs) or _of_another_rank(node, inputs) or str(error)
    except LookupError:  # a shape function that stumbles over values which the kernel has to judge
        return None
    return None


def _not_broadcast(node: Node, inputs: list[Any]) -> str | None:
    """The words for two shapes that do not broadcast, if that is what is wrong."""
    if not node.definition.broadcasts_inputs or len(inputs) != 2:
        return None
    shapes = [getattr(value, "shape", ()) for value in inputs]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        return f"Incompatible shapes: {brackets(shapes[0])} vs. {brackets(shapes[1])}"
    return None


def _of_another_rank(node: Node, inputs: list[Any]) -> str | None:
    """The words about the first input that has another rank than the op wants, if it has any."""
    values = {arg.name: group[0] for arg, group in node.definition.group(tuple(inputs), node.attrs) if group}
    for name, (rank, words) in node.definition.rank_words.items():
        if name in values and np.ndim(values[name]) != rank:
            shapes = {each: brackets(np.shape(value)) for each, value in values.items()}
            return words.format(**{**shapes, "shape": shapes[name], "rank": np.ndim(values[name]), "first": np.ndim(inputs[0])})
    return None


def _stand_in(graph: Graph, edge: tuple[Node, int], value: Any) -> Tensor:
    """A node that has the value of an input: a constant, or a placeholder where it is not an array, or a large one.

    No shape depends on the elements of a large array. The graph would hold it until the garbage is collected, and a variable whose value
    is held is copied when it is written to.
    """
    producer, index = edge
    dtype: DType = producer.output_dtypes[index]
    if isinstance(value, (np.ndarray, np.generic)) and dtype.base_dtype.is_numpy_compatible:
        if value.size > _MOST_ELEMENTS:
            attributes = {"dtype": dtype.base_dtype, "shape": TensorShape(value.shape)}
            return Placeholder.add_node(graph, graph.unique_name("input"), (), attributes).outputs[0]
        attributes = {"value": np.asarray(value), "dtype": dtype.base_dtype}
        return Const.add_node(graph, graph.unique_name("input"), (), attributes).outputs[0]
    held = getattr(value, "value", None)  # a reference to a variable
    shape = TensorShape(held.shape) if isinstance(held, np.ndarray) and dtype.is_ref else TensorShape(None)
    made = Placeholder.add_node(graph, graph.unique_name("input"), (), {"dtype": dtype, "shape": shape}).outputs[0]
    if producer.origin is not None and producer.definition is not Arg:
        made._handle_data = producer.origin.outputs[index]._handle_data  # of a resource: the type and shape of what it refers to
    return made


def result_checked(node: Node, kernel: Kernel) -> Kernel:
    """The kernel, behind a check that it gives as many outputs, of the types and shapes, as its op declares."""
    wanted = [(dtype.base_dtype, node.origin.outputs[index].shape if node.origin is not None else TensorShape(None))
              for index, dtype in enumerate(node.output_dtypes)]

    def run_and_check(*inputs: Any, **options: Any) -> Any:
        result = kernel(*inputs, **options)
        outputs = [result] if len(wanted) == 1 else list(result or ())
        if len(outputs) != len(wanted):
            raise invalid_argument(f"the kernel gave {len(outputs)} outputs, its signature has {len(wanted)}")
        for index, (value, (dtype, shape)) in enumerate(zip(outputs, wanted)):
            if dtype.is_numpy_compatible and not isinstance(value, Ref):  # which holds its own type
                array = np.asarray(value)
                if array.dtype != dtype.np or not shape.is_compatible_with(array.shape):
                    raise invalid_argument(f"output {index} of the kernel is {array.dtype}{list(array.shape)}, declared are {dtype.name} and {shape}",
                                           hint="have the kernel return an array of the declared type, and the shape function tell the truth")
        return result

    return run_and_check
