"""``tf.cond``, ``tf.case`` and ``tf.while_loop``: Python functions traced into graphs, and run by the ops If and While."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph import nest
from penstock.graph.composite import IndexedSlices, SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.function import FuncGraph, trace
from penstock.graph.graph import default_graph
from penstock.graph.node import Operation, Tensor
from penstock.graph.scopes import control_dependencies, name_scope
from penstock.graph.shape import TensorShape, as_shape
from penstock.ops.array.pack import stack
from penstock.ops.array.passing import stop_gradient
from penstock.ops.constant import constant, identity
from penstock.ops.flow.functional import If, While
from penstock.ops.flow.loop_reads import hoist_reads
from penstock.ops.flow.misc import Assert, with_dependencies
from penstock.ops.math.compare import equal, logical_and, logical_not
from penstock.ops.math.reduce import reduce_any

# --- leaves of a structure that are made of tensors ------------------------------------------------------------------

def parts_of(leaf: Any) -> list[Any]:
    """The tensors that a leaf of a structure travels as."""
    if isinstance(leaf, SparseTensor):
        return [leaf.indices, leaf.values, leaf.dense_shape]
    if isinstance(leaf, IndexedSlices):
        return [leaf.values, leaf.indices] + ([leaf.dense_shape] if leaf.dense_shape is not None else [])
    return [leaf.flow] if hasattr(leaf, "with_flow") else [leaf]


def leaf_of(leaf: Any, parts: list[Tensor]) -> Any:
    """A leaf like ``leaf`` of new tensors."""
    if isinstance(leaf, SparseTensor):
        return SparseTensor(*parts)
    if isinstance(leaf, IndexedSlices):
        return IndexedSlices(*parts)
    return leaf.with_flow(parts[0]) if hasattr(leaf, "with_flow") else parts[0]


def _pack(structure: Any, leaves: list[Any], tensors: list[Tensor]) -> Any:
    """``tensors`` in the form of ``structure``, whose flat leaves are ``leaves``."""
    rest, built = list(tensors), []
    for leaf in leaves:
        count = len(parts_of(leaf))
        built.append(leaf_of(leaf, rest[:count]))
        del rest[:count]
    return nest.pack_sequence_as(structure, built)


# --- functions that share their inputs -------------------------------------------------------------------------------

def share_inputs(functions: list[FuncGraph], arguments: int) -> list[Tensor]:
    """Gives all functions the same captures in the same order, after their ``arguments``; returns the captured outer tensors."""
    captured = list(dict.fromkeys(tensor for function in functions for tensor in function.captures))
    for function in functions:
        with function.as_default():
            function.inputs[arguments:] = [function.capture(tensor) for tensor in captured]
    return captured


def control_inputs_of(functions: list[FuncGraph]) -> list[Operation]:
    """The ops outside that the functions' ops wait for."""
    return list(dict.fromkeys(op for function in functions for op in function.control_captures))


# --- cond ------------------------------------------------------------------------------------------------------------

def cond(pred: Any, true_fn: Callable[[], Any] | None = None, false_fn: Callable[[], Any] | None = None, strict: bool = False,
         name: str | None = None, fn1: Callable[[], Any] | None = None, fn2: Callable[[], Any] | None = None) -> Any:
    """``tf.cond``: the result of ``true_fn()`` if ``pred`` is true when it runs, else that of ``false_fn()``.

    Only the branch that is taken runs, side effects included. What a branch uses from outside is computed in any case.

    >>> import penstock as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [])
    ...     y = tf.cond(x > 0.0, lambda: x * 2.0, lambda: -x)
    ...     sess.run(y, {x: 3.0}), sess.run(y, {x: -3.0})
    (np.float32(6.0), np.float32(3.0))
    """
    true_fn, false_fn = true_fn or fn1, false_fn or fn2
    if not callable(true_fn) or not callable(false_fn):
        raise TypeError("true_fn and false_fn must be callable.")
    if default_graph().imperative:
        result = true_fn() if pred else false_fn()
        return result if strict else _only_item(result)
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool")
    with name_scope(name, "cond", [pred] if isinstance(pred, Tensor) else []):
        pred = to_tensor(pred, name="pred_id")
        if pred.dtype.base_dtype is not dt.bool_:
            raise TypeError(f"pred must be a bool tensor, not {pred.dtype.name}: {pred!r}")
        if pred.shape.ndims not in (0, None):
            raise ValueError(f"Shape must be rank 0 but is rank {pred.shape.ndims} for the predicate of a conditional: {pred!r}")
        # TensorFlow has a Switch of the predicate and three Identities beside a Merge per result; inputs of a branch are Switches of its own
        graph = default_graph()
        if isinstance(graph, FuncGraph):
            pred = graph.capture(pred)
        in_place = graph.has_branches_in_place
        then = _Branch("cond_true", True, true_fn, graph.next_op_seed() + 4 if in_place else 0)
        branches = [then, _Branch("cond_false", False, false_fn, then.graph.next_op_seed() if in_place else 0)]
        _check_same(*branches)
        if in_place:
            graph.imply(3 + sum(branch.graph.counted_operations() for branch in branches))
        outputs = add_if(pred, branches[0].graph, branches[1].graph)
        result = _pack(branches[0].result, branches[0].leaves, [identity(tensor, name="Merge") for tensor in outputs])
    return result if strict else _only_item(result)


def _only_item(result: Any) -> Any:
    """The item of a list or tuple of one; other results as they are."""
    return result[0] if isinstance(result, (list, tuple)) and not hasattr(result, "_fields") and len(result) == 1 else result


class _Branch:
    """A branch of a conditional: its graph, and the structure of what it returns."""

    def __init__(self, name: str, pred: bool, function: Callable[[], Any], operations_before: int) -> None:
        self.graph, self.result = trace(name, function, operations_before=operations_before)
        if self.result is None:
            raise ValueError(f"{'true_fn' if pred else 'false_fn'} must have a return value.")
        self.leaves = nest.flatten(self.result)
        with self.graph.as_default():
            self.leaves = [_as_leaf(leaf, pred) for leaf in self.leaves]
            self.graph.outputs = [self.graph.capture(to_tensor(part)) for leaf in self.leaves for part in parts_of(leaf)]


def _as_leaf(leaf: Any, pred: bool) -> Any:
    if isinstance(leaf, Operation):  # an op has no value: something to wait for, which tells the branch
        with control_dependencies([leaf]):
            return constant(pred, name="done")
    return leaf if isinstance(leaf, (SparseTensor, IndexedSlices)) or hasattr(leaf, "with_flow") else to_tensor(leaf)


def _check_same(one: _Branch, other: _Branch) -> None:
    try:
        nest.assert_same_structure(one.result, other.result)
    except (TypeError, ValueError) as error:
        raise type(error)(f"Incompatible return types of true_fn and false_fn: {error}") from None
    for mine, theirs in zip(one.graph.outputs, other.graph.outputs):
        if mine.dtype.base_dtype is not theirs.dtype.base_dtype:
            raise ValueError(f"Outputs of true_fn and false_fn must have the same type: {mine.dtype.base_dtype.name}, {theirs.dtype.base_dtype.name}")
    if len(one.graph.outputs) != len(other.graph.outputs):
        raise TypeError("Incompatible return types of true_fn and false_fn: a different number of tensors")


def add_if(pred: Tensor, then_branch: FuncGraph, else_branch: FuncGraph) -> list[Tensor]:
    """The results of one of two functions without arguments, by one op."""
    captured = share_inputs([then_branch, else_branch], 0)
    with control_dependencies(control_inputs_of([then_branch, else_branch])):
        op = If.node([pred, captured], {"then_branch": then_branch, "else_branch": else_branch,
                                        "Tout": [tensor.dtype.base_dtype for tensor in then_branch.outputs]}, name="If")
    return op.outputs


def case(pred_fn_pairs: Any, default: Callable[[], Any] | None = None, exclusive: bool = False, strict: bool = False, name: str = "case") -> Any:
    """``tf.case``: the result of the first function whose predicate is true; of ``default()`` if none is."""
    pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, dict) else list(pred_fn_pairs)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Each entry in pred_fn_pairs must be a 2-tuple")
        if not callable(pair[1]):
            raise TypeError("fn for each entry in pred_fn_pairs must be callable.")
    if not pairs and default is None:
        raise ValueError("tf.case needs at least one pair or a default")
    with name_scope(name, "case", [pred for pred, _ in pairs]):
        preds, branches = [to_tensor(pred) for pred, _ in pairs], [branch for _, branch in pairs]
        checks, names = [], ", ".join(pred.name for pred in preds)
        if exclusive:
            overlap = [logical_and(one, other) for index, one in enumerate(preds) for other in preds[index + 1:]]
            checks = [Assert(_none_of(overlap), [f"More than one condition evaluated as True but exclusive=True.  Conditions: ({names}), Values:",
                                                 stack(preds)])]
        if default is None:  # the last branch, then: the check says that one of them is to run
            checks.append(Assert(_any_of(preds), [f"None of the conditions evaluated as True. Conditions: ({names}), Values:", stack(preds)]))
            default = branches.pop()
        function = default
        for pred, branch in reversed(list(zip(preds, branches))):
            function = _chain(pred, branch, function, strict)
        if not checks:
            return function()
        with control_dependencies(checks):
            result = function()
        with default_graph().counting_as(0):  # TensorFlow's results wait where they are made; Python's have nothing to wait for
            return nest.map_structure(lambda part: with_dependencies(checks, part) if isinstance(part, (Tensor, Operation)) else part, result)


def switch_case(branch_index: Any, branch_fns: Any, default: Callable[[], Any] | None = None, name: str = "switch_case") -> Any:
    """``tf.switch_case``: the result of the function with this index; of ``default()``, or else of the last one, if there is none.

    ``branch_fns`` is a list of functions, or a dict or a list of pairs of indices and functions.
    """
    if isinstance(branch_fns, dict):
        branch_fns = list(branch_fns.items())
    if not isinstance(branch_fns, (list, tuple)) or not branch_fns:
        raise TypeError("branch_fns must be a list, tuple, or dict, and not empty")
    pairs = list(enumerate(branch_fns)) if all(map(callable, branch_fns)) else list(branch_fns)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], int) or not callable(pair[1]):
            raise TypeError(f"Each entry in branch_fns must be a callable, or a pair of an int and a callable; got {pair!r}")
    pairs.sort(key=lambda pair: pair[0])
    indices = [index for index, _ in pairs]
    if indices != list(range(len(pairs))):
        raise ValueError(f"branch indices (keys) must form contiguous range of [0 to {len(pairs)}) but found {{{','.join(map(str, indices))}}}")
    with name_scope(name, "switch_case", [branch_index]):
        index = to_tensor(branch_index, name="branch_index")
        if not index.dtype.is_integer:
            raise TypeError(f"branch_index must be an integer, not {index.dtype.name}")
        function = pairs.pop()[1] if default is None else default
        for number, branch in reversed(pairs):
            function = _chain(equal(index, constant(number, index.dtype)), branch, function, True)
        return function()


def _chain(pred: Tensor, branch: Callable[[], Any], rest: Callable[[], Any], strict: bool) -> Callable[[], Any]:
    return lambda: cond(pred, branch, rest, strict=strict)


def _any_of(preds: list[Tensor]) -> Tensor:
    return reduce_any(stack(preds))


def _none_of(preds: list[Tensor]) -> Tensor:
    return logical_not(_any_of(preds)) if preds else constant(True)


# --- while_loop ------------------------------------------------------------------------------------------------------

def while_loop(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, shape_invariants: Any = None, parallel_iterations: int = 10,
               back_prop: bool = True, swap_memory: bool = False, name: str | None = None, maximum_iterations: Any = None,
               return_same_structure: bool = False) -> Any:
    """``tf.while_loop``: calls ``body`` on the loop variables as long as ``cond`` says so; returns the last ones.

    Loop variables may be any nest of tensors, SparseTensors and TensorArrays. A variable keeps its shape unless ``shape_invariants`` says what of it
    may change. With ``back_prop=False`` no gradient goes into the loop. ``parallel_iterations`` and ``swap_memory`` are accepted; they change no
    result.

    >>> import penstock as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.while_loop(lambda i: i < 10, lambda i: i + 3, [0]))
    np.int32(12)
    """
    if not callable(cond):
        raise TypeError("cond must be callable.")
    if not callable(body):
        raise TypeError("body must be callable.")
    if parallel_iterations < 1:
        raise TypeError("parallel_iterations must be a positive integer.")
    if not loop_vars and not isinstance(loop_vars, Tensor):
        raise ValueError("No loop variables provided")
    if default_graph().imperative:
        return _run_loop(cond, body, loop_vars, maximum_iterations, return_same_structure)
    with name_scope(name, "while", nest.flatten(loop_vars)):
        loop = _Loop(cond, body, loop_vars, shape_invariants, maximum_iterations, parallel_iterations)
        return loop.build(return_same_structure, identity if back_prop else stop_gradient)


def _run_loop(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, maximum_iterations: Any, return_same_structure: bool) -> Any:
    """The loop in imperative style: Python's."""
    single = not isinstance(loop_vars, (list, tuple)) or hasattr(loop_vars, "_fields")
    values = [loop_vars] if single else loop_vars
    turns, bare = 0, single  # is the result the value itself? It is if the body returns it so
    while (maximum_iterations is None or turns < maximum_iterations) and cond(*values):
        result = body(*values)
        if not isinstance(result, (list, tuple)) or hasattr(result, "_fields"):
            result, bare = [result], not return_same_structure or single
        nest.assert_same_structure(list(values), list(result))
        values, turns = result, turns + 1
    values = nest.map_structure(lambda leaf: leaf if hasattr(leaf, "with_flow") else to_tensor(leaf), values)
    if maximum_iterations is not None and not return_same_structure:
        return _only_item(values)
    return values[0] if bare else values


class _Loop:
    """One call of ``while_loop``."""

    def __init__(self, cond: Any, body: Any, loop_vars: Any, shape_invariants: Any, maximum_iterations: Any, parallel_iterations: int) -> None:
        self._cond, self._body, self._parallel = cond, body, parallel_iterations
        self._structure = list(loop_vars) if isinstance(loop_vars, (list, tuple)) and not hasattr(loop_vars, "_fields") else [loop_vars]
        self._counted = maximum_iterations is not None
        if self._counted:
            limit = to_tensor(maximum_iterations, name="maximum_iterations")
            if limit.shape.ndims not in (0, None):
                raise ValueError(f"maximum_iterations must be a scalar, saw shape: {limit.shape}")
            self._limit = limit
            self._structure = [constant(0, limit.dtype.base_dtype, name="iteration_counter"), self._structure]
        self._leaves = [leaf if isinstance(leaf, (SparseTensor, IndexedSlices)) or hasattr(leaf, "with_flow") else to_tensor(leaf, name="loop_var")
                        for leaf in nest.flatten(self._structure)]
        self._start = [part for leaf in self._leaves for part in parts_of(leaf)]
        self._shapes = self._invariants(shape_invariants)

    def _invariants(self, given: Any) -> list[TensorShape]:
        if given is None:
            return [tensor.shape for tensor in self._start]
        original = self._structure[1] if self._counted else self._structure
        shapes = [as_shape(shape) for shape in _flatten_shapes(original, given)]
        if self._counted:
            shapes.insert(0, TensorShape(()))
        result: list[TensorShape] = []
        for leaf, shape in zip(self._leaves, shapes):
            parts = parts_of(leaf)
            result.extend([shape] if len(parts) == 1 and isinstance(leaf, Tensor) else [TensorShape(None) if not isinstance(leaf, Tensor) and
                          part.shape.ndims is None else _with_open_extents(part.shape) for part in parts])
        for tensor, shape in zip(self._start, result):
            if not contains(shape, tensor.shape):
                raise ValueError(f"The shape invariant specified for {tensor.name} is not compatible with the initial shape of the loop variable. "
                                 f"It enters the loop with shape {tensor.shape}, but the specified shape invariant is {shape}.")
        return result

    def build(self, same_structure: bool, leave: Callable[..., Tensor]) -> Any:
        """The op and its results, each of which leaves the loop through an op that ``leave`` makes."""
        arguments = [(tensor.dtype.base_dtype, shape, "loop_var") for tensor, shape in zip(self._start, self._shapes)]
        # TensorFlow has an Enter and a Merge per variable and the condition, then LoopCond, Switches, Identities and the body, then NextIterations
        # and Exits; and an Enter per captured tensor. Of the two operations per variable that stand before each part, one is its argument here.
        graph, count = default_graph(), len(arguments)
        in_place = graph.has_branches_in_place
        test, _ = trace("while_cond", self._trace_cond, arguments, graph.next_op_seed() + count if in_place else 0)
        step, _ = trace("while_body", self._trace_body, arguments, test.next_op_seed() + 1 + count if in_place else 0, test.captures)
        waiting_for = control_inputs_of([test, step])
        # In a function: constants and Identities of a counter and of the most turns that there may be, unless they are given; Identities of captures.
        graph.imply(sum(part.counted_operations() for part in (test, step)) + 3 * count if in_place
                    else len({*test.captures, *step.captures}) + (0 if self._counted else 4))
        with graph.counting_as(0):
            hoist_reads(step, self._start, waiting_for)
        captured = share_inputs([test, step], count)
        step.outputs += step.inputs[count:]
        with control_dependencies(waiting_for):
            op = While.node([[*self._start, *captured]], {
                "cond": test, "body": step, "parallel_iterations": self._parallel,
                "output_shapes": [*self._shapes, *(tensor.shape for tensor in captured)]}, name="While")
        exits = [leave(tensor, name="Exit") for tensor in op.outputs[:count]]
        for tensor, start in zip(exits, self._start):  # what the elements of a list are said to be
            tensor._handle_data = tensor._handle_data or start._handle_data
        result = _pack(self._structure, self._leaves, exits)
        result = result[1] if self._counted else result
        result = tuple(result) if self._gave_tuple else result
        single = len(result) == 1 and (self._counted or len(nest.flatten(result)) == 1)  # a lone structure stays in its list, as in TensorFlow
        return result[0] if single and not same_structure else result

    def _variables(self, tensors: tuple[Tensor, ...]) -> tuple[Any, list[Any]]:
        """(counter or None, the loop variables in their structure)."""
        for tensor, start in zip(tensors, self._start):
            tensor._handle_data = tensor._handle_data or start._handle_data
        packed = _pack(self._structure, self._leaves, list(tensors))
        return (packed[0], packed[1]) if self._counted else (None, packed)

    def _trace_cond(self, *tensors: Tensor) -> None:
        graph = default_graph()
        assert isinstance(graph, FuncGraph)
        counter, variables = self._variables(tensors)
        is_below = None if counter is None else counter < self._limit
        result = to_tensor(self._cond(*variables))
        if result.dtype.base_dtype is not dt.bool_:
            raise TypeError(f"The condition of a loop must be a bool scalar, not {result!r}")
        if result.shape.ndims not in (0, None):
            raise ValueError(f"Shape must be rank 0 but is rank {result.shape.ndims} for the condition of a loop: {result!r}")
        if is_below is not None:
            result = logical_and(is_below, result)
        graph.outputs = [graph.capture(result)]

    def _trace_body(self, *tensors: Tensor) -> None:
        graph = default_graph()
        assert isinstance(graph, FuncGraph)
        counter, variables = self._variables(tensors)
        if not graph.has_branches_in_place:
            # TensorFlow's arguments are also the counter, which it adds to later, and its limit, and what the condition captures
            graph.imply((2 if counter is None else -2) + len(graph._captured_before))
        following = None if counter is None else counter + 1
        result = self._body(*variables)
        self._gave_tuple = type(result) is tuple
        result = list(result) if isinstance(result, (list, tuple)) and not hasattr(result, "_fields") else [result]
        if len(variables) == 1 and len(result) != 1:
            result = [result]
        if any(isinstance(leaf, Operation) for leaf in nest.flatten(result)):
            raise TypeError("The body of a loop returns tensors, not operations; use tf.control_dependencies and a tensor.")
        whole = result if following is None else [following, result]
        nest.assert_same_structure(self._structure, whole)
        outputs = [to_tensor(part) for leaf in nest.flatten(whole) for part in parts_of(leaf)]
        for start, shape, after in zip(self._start, self._shapes, outputs):
            _check_invariant(start, shape, after)
        graph.outputs = [graph.capture(tensor) for tensor in outputs]


def _flatten_shapes(structure: Any, shapes: Any) -> list[Any]:
    """The invariants, one per leaf: a TensorShape is a leaf although it can be iterated over."""
    if isinstance(shapes, TensorShape) or shapes is None:
        return [shapes]
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in _flatten_shapes(structure[key], shapes[key])]
    if isinstance(structure, (list, tuple)):
        if len(structure) != len(shapes):
            raise ValueError(f"shape_invariants has {len(shapes)} entries for {len(structure)} loop variables")
        return [leaf for item, shape in zip(structure, shapes) for leaf in _flatten_shapes(item, shape)]
    return [shapes]


def _with_open_extents(shape: TensorShape) -> TensorShape:
    """Of the parts of a composite only the ranks stay the same."""
    return shape if shape.ndims in (0, None) else TensorShape([None] * shape.ndims)  # type: ignore[operator]


def contains(general: TensorShape, special: TensorShape) -> bool:
    """True if every shape that ``special`` may be is one that ``general`` may be."""
    if general.ndims is None:
        return True
    if special.ndims != general.ndims:
        return False
    return all(mine is None or mine == its for mine, its in zip(general.as_list(), special.as_list()))


def _check_invariant(start: Tensor, shape: TensorShape, after: Tensor) -> None:
    if start.dtype.base_dtype is not after.dtype.base_dtype:
        raise TypeError(f"The loop variable {start.name} enters the loop with type {start.dtype.base_dtype.name}, but has type "
                        f"{after.dtype.base_dtype.name} after one iteration.")
    if not contains(shape, after.shape):
        raise ValueError(f"The shape for {start.name} is not an invariant for the loop. It enters the loop with shape {shape}, but has shape "
                         f"{after.shape} after one iteration. Provide shape invariants using either the `shape_invariants` argument of tf.while_loop "
                         "or set_shape() on the loop variables.")
