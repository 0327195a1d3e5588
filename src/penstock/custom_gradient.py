"""Gradients of one's own for a Python function, and second derivatives."""
from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any

from penstock.gradients import RegisterGradient, gradients
from penstock.graph import nest
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Tensor
from penstock.graph.scopes import control_dependencies
from penstock.ops.array.pack import concat
from penstock.ops.array.passing import IdentityN
from penstock.ops.array.shape_ops import reshape, shape, size
from penstock.ops.constant import constant, identity
from penstock.ops.flow.control_flow import while_loop
from penstock.ops.flow.tensor_array_class import TensorArray

_numbers = itertools.count(1)


def custom_gradient(f: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """``@tf.custom_gradient``: ``f(*tensors)`` returns (results, grad_fn); grad_fn maps the results' gradients to the inputs'.

    >>> import penstock as tf
    >>> @tf.custom_gradient
    ... def clip_backward(x):
    ...     return tf.identity(x), lambda dy: tf.clip_by_value(dy, -1.0, 1.0)
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.constant(2.0)
    ...     sess.run(tf.gradients(10.0 * clip_backward(x), x))
    [np.float32(1.0)]
    """
    if f is None:
        return custom_gradient

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        if default_graph().imperative:
            return _call(functools.partial(f, **kwargs), [to_tensor(arg) for arg in args])
        if kwargs:
            raise ValueError("The custom_gradient decorator currently supports keywords arguments only when eager execution is enabled.")
        inputs = [to_tensor(arg) for arg in args]
        with default_graph().counting_as(0):  # TensorFlow has an Identity for each result, and none for arguments
            inputs = [identity(each) for each in inputs]
        return _build(f, inputs)

    return decorated


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """``tf.grad_pass_through``: ``f``, through which gradients pass as if it returned its arguments.

    >>> import penstock as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.constant([1.4, 2.6])
    ...     sess.run(tf.gradients(tf.grad_pass_through(tf.round)(x) * 3.0, x))[0].tolist()
    [3.0, 3.0]
    """
    def with_gradient(*args: Any) -> Any:
        def pass_on(*grads: Tensor, variables: Any = None) -> Any:
            own = grads[0] if len(grads) == 1 else list(grads)
            return own if variables is None else (own, [None] * len(variables))
        return f(*args), pass_on

    return functools.wraps(f)(custom_gradient(with_gradient))


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """``tf.recompute_grad``: ``f``, which is computed once more for its gradient, so that nothing of its inside is kept until then."""
    def with_gradient(*args: Any) -> Any:
        def again(*grads: Tensor, variables: Any = None) -> Any:
            with control_dependencies([grad for grad in grads if grad is not None]):
                inputs = [identity(arg) for arg in args]
            own = gradients(nest.flatten(f(*inputs)), [*inputs, *(variables or [])], list(grads))
            return own[:len(inputs)] if variables is None else (own[:len(inputs)], own[len(inputs):])
        return f(*args), again

    return functools.wraps(f)(custom_gradient(with_gradient))


_NODES_OF_VARIABLE = 2  # TensorFlow reads each of them before and behind the IdentityN


def _build(f: Callable[..., Any], args: list[Tensor]) -> Any:
    graph = default_graph()
    made_before = len(graph._ops)
    known = set(graph.get_collection(GraphKeys.GLOBAL_VARIABLES))
    result, grad_fn = f(*args)
    custom = _Custom(args, result, grad_fn, _variables_read(graph, made_before, known, args))
    register_name = f"CustomGradient-{next(_numbers)}"
    RegisterGradient(register_name)(custom.gradient)
    graph.imply(len(custom.results) + _NODES_OF_VARIABLE * len(custom.variables))
    with graph.gradient_override_map({"IdentityN": register_name}):
        return custom.outputs()


def _call(f: Callable[..., Any], args: list[Tensor]) -> Any:
    """The function called in imperative style: tapes see one operation, with the function's own gradient."""
    with default_graph().unrecorded() as variables:  # type: ignore[attr-defined]
        result, grad_fn = f(*args)
    custom = _Custom(args, result, grad_fn, list(variables))
    outputs = custom.outputs()
    nest.flatten(outputs)[0].op.own_gradient = custom.gradient
    return outputs


class _Custom:
    """One call of a function with a gradient of its own."""

    def __init__(self, args: list[Tensor], result: Any, grad_fn: Callable[..., Any], variables: list[Any]) -> None:
        if variables and not _takes_variables(grad_fn):
            raise TypeError("If using @custom_gradient with a function that uses variables, then grad_fn must accept a 'variables' keyword argument.")
        self._args, self._result, self._grad_fn, self.variables = args, result, grad_fn, variables
        self.results = [to_tensor(item) for item in nest.flatten(result)]

    def outputs(self) -> Any:
        """The results behind an IdentityN, which also has the arguments and the variables for inputs, so that gradients find their way to them."""
        handles = [variable.handle for variable in self.variables]
        return nest.pack_sequence_as(self._result, IdentityN(self.results + self._args + handles)[:len(self.results)])

    def gradient(self, op: Any, *grads: Any) -> list[Any]:
        """The gradient function of that IdentityN."""
        own, variables = grads[:len(self.results)], self.variables
        default_graph().imply(len(variables))  # zeros for what is read of them
        if variables:
            input_grads, variable_grads = self._grad_fn(*own, variables=variables)
            if len(variable_grads) != len(variables):
                raise ValueError("Must return gradient for each variable from @custom_gradient grad_fn.")
        else:
            input_grads, variable_grads = self._grad_fn(*own), []
        input_grads = list(input_grads) if isinstance(input_grads, (list, tuple)) else [input_grads]
        if len(input_grads) != len(self._args):
            raise ValueError(f"custom_gradient function expected to return {len(self._args)} gradients but returned {len(input_grads)} instead.")
        return [None] * len(self.results) + input_grads + list(variable_grads)


def _variables_read(graph: Any, start: int, known: set[Any], args: list[Tensor]) -> list[Any]:
    """The resource variables that the ops made since ``start`` read."""
    variables = graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
    if any(variable not in known and not hasattr(variable, "handle") for variable in variables):
        raise TypeError("All variables used by `f` wrapped with @custom_gradient must be `ResourceVariable`s. Ensure that no `variable_scope` "
                        "is created with `use_resource=False`.")
    by_handle = {variable.handle: variable for variable in variables if hasattr(variable, "handle")}
    read = [tensor for op in graph._ops[start:] for tensor in op._inputs if tensor in by_handle]
    return list(dict.fromkeys(by_handle[tensor] for tensor in read))


def _takes_variables(grad_fn: Callable[..., Any]) -> bool:
    parameters = inspect.signature(grad_fn).parameters
    return "variables" in parameters or any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())


def hessians(ys: Any, xs: Any, name: str = "hessians", colocate_gradients_with_ops: bool = False, gate_gradients: bool = False,
             aggregation_method: int | None = None) -> list[Tensor]:
    """``tf.hessians``: for each x the tensor of second derivatives of the sum of ys, of shape x.shape + x.shape.

    A loop goes over the elements of x.
    """
    xs = list(xs) if isinstance(xs, (list, tuple)) else [xs]
    options: dict[str, Any] = {"colocate_gradients_with_ops": colocate_gradients_with_ops, "gate_gradients": gate_gradients,
                               "aggregation_method": aggregation_method}
    return [_second_derivatives(reshape(gradient, [-1]), x, options) for x, gradient in zip(xs, gradients(ys, xs, **options))]  # without a scope


def _second_derivatives(gradient: Tensor, x: Any, options: dict[str, Any]) -> Tensor:
    """The derivatives of the elements of a flat gradient with respect to ``x``."""
    number = size(x)
    rows = TensorArray(x.dtype.base_dtype, number)

    def add_row(index: Tensor, result: TensorArray) -> tuple[Tensor, TensorArray]:
        return index + 1, result.write(index, gradients(gradient[index], x, unconnected_gradients="zero", **options)[0])

    _, rows = while_loop(lambda index, _: index < number, add_row, (constant(0), rows))
    extents = shape(x)
    result = reshape(rows.stack(), concat([extents, extents], 0))
    result.set_shape(x.shape.concatenate(x.shape))
    return result
