"""What programs for TPUs call beside the estimator: sums over shards, computations, loops, variables for bfloat16. There is one shard."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from penstock.graph import dtypes
from penstock.graph.scopes import name_scope
from penstock.layers.losses import Reduction
from penstock.ops.array.cast import cast
from penstock.ops.array.pack import concat, split
from penstock.ops.constant import constant, identity
from penstock.ops.flow.control_flow import while_loop as graph_while_loop
from penstock.ops.flow.misc import no_op
from penstock.train.optimizer import Optimizer
from penstock.train.optimizer_wrapper import OptimizerWrapper
from penstock.variables.scope import variable_scope


class CrossShardOptimizer(OptimizerWrapper):
    """``tf.contrib.tpu.CrossShardOptimizer``: averages gradients over shards. Those of the one shard are applied as they are."""

    def __init__(self, opt: Optimizer, reduction: str = Reduction.MEAN, name: str = "CrossShardOptimizer", group_assignment: Any = None) -> None:
        if reduction not in (Reduction.SUM, Reduction.MEAN):
            raise ValueError(f"Unsupported reduction: {reduction}.")
        if not isinstance(opt, Optimizer):
            raise TypeError(f"CrossShardOptimizer does not work with OptimizerV2, but with optimizers of tf.train. Given: {opt}")
        super().__init__(opt, False, name)

    def compute_gradients(self, loss: Any, var_list: Any = None, gate_gradients: int = Optimizer.GATE_OP, aggregation_method: Any = None,
                          colocate_gradients_with_ops: bool = False, grad_loss: Any = None) -> list[tuple[Any, Any]]:
        """What the wrapped optimizer computes."""
        return self._opt.compute_gradients(loss, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """Applies them."""
        return self._opt.apply_gradients(grads_and_vars, global_step, name)


def cross_replica_sum(x: Any, group_assignment: Any = None, name: str | None = None) -> Any:
    """``tf.contrib.tpu.cross_replica_sum``: of the one shard."""
    return identity(x, name=name)


def initialize_system(embedding_config: Any = None, job: str | None = None) -> Any:
    """``tf.contrib.tpu.initialize_system``: an empty topology."""
    return constant(b"", name="ConfigureDistributedTPU")


def shutdown_system(job: str | None = None) -> Any:
    """``tf.contrib.tpu.shutdown_system``: nothing to do."""
    return no_op(name="ShutdownDistributedTPU")


def core(num: int) -> str:
    """``tf.contrib.tpu.core``: the name of a core, which soft placement takes to a CPU."""
    return f"device:TPU_REPLICATED_CORE:{num}"


def outside_compilation(computation: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``tf.contrib.tpu.outside_compilation``: the computation on the host, where all of them are."""
    return computation(*args, **kwargs)


class _Context:
    """What ``get_tpu_context`` gives: outside of a TPU there are no shards."""

    number_of_shards: int | None = None

    def set_number_of_shards(self, number_of_shards: int | None) -> None:
        """Notes the number for the computation."""
        self.number_of_shards = number_of_shards


_context = _Context()


def get_tpu_context() -> _Context:
    """``tensorflow.contrib.tpu.python.tpu.tpu_function.get_tpu_context``."""
    return _context


def replicate(computation: Callable[..., Any], inputs: Any = None, infeed_queue: Any = None, device_assignment: Any = None, name: str | None = None,
              maximum_shapes: Any = None) -> list[Any]:
    """``tf.contrib.tpu.replicate``: the computation once per list of ``inputs``; the outputs of each."""
    _refuse_queue(infeed_queue)
    with name_scope(name, "replicate"):
        return [rewrite(computation, each) for each in ([[]] if inputs is None else inputs)]


def shard(computation: Callable[..., Any], inputs: Any = None, num_shards: int = 1, input_shard_axes: Any = None, outputs_from_all_shards: Any = True,
          output_shard_axes: Any = None, infeed_queue: Any = None, device_assignment: Any = None, name: str | None = None) -> list[Any]:
    """``tf.contrib.tpu.shard``: inputs are split along their axes, computed part by part, and the outputs joined."""
    inputs = [] if inputs is None else list(inputs)
    axes = input_shard_axes or [0] * len(inputs)
    if len(axes) != len(inputs):
        raise ValueError(f"Length of input_shard_axes ({len(axes)}) is not the number of inputs ({len(inputs)})")
    parts = [split(value, num_shards, axis=axis) for value, axis in zip(inputs, axes)]
    results = replicate(computation, [list(each) for each in zip(*parts)] if inputs else [[]] * num_shards, infeed_queue, device_assignment, name)
    if not results[0]:
        return [results[0]]
    columns = list(zip(*results))
    every = outputs_from_all_shards if isinstance(outputs_from_all_shards, (list, tuple)) else [outputs_from_all_shards] * len(columns)
    joined = output_shard_axes or [0] * len(columns)
    return [concat(list(column), axis=axis) if wanted else column[0] for column, wanted, axis in zip(columns, every, joined)]


def _refuse_queue(infeed_queue: Any) -> None:
    if infeed_queue is not None:
        raise ValueError("infeed_queue: there is no TPU to feed. Give the values as inputs")


def rewrite(computation: Callable[..., Any], inputs: Any = None, infeed_queue: Any = None, device_assignment: Any = None,
            name: str | None = None) -> Any:
    """``tf.contrib.tpu.rewrite``: the outputs of a computation, as a list, if it has any."""
    outputs = computation(*(inputs or ()))
    return outputs if outputs is None or isinstance(outputs, (list, tuple)) else [outputs]


def batch_parallel(computation: Callable[..., Any], inputs: Any = None, num_shards: int = 1, infeed_queue: Any = None, device_assignment: Any = None,
                   name: str | None = None) -> Any:
    """``tf.contrib.tpu.batch_parallel``: a computation of the whole batch, in one shard."""
    return rewrite(computation, inputs)


def while_loop(condition: Callable[..., Any], body: Callable[..., Any], inputs: Any = None, infeed_queue: Any = None, name: Any = None) -> Any:
    """``tf.contrib.tpu.while_loop``: a loop in the graph."""
    return graph_while_loop(condition, body, list(inputs or ()), name=name)


def repeat(n: int, body: Callable[..., Any], inputs: Any = None, infeed_queue: Any = None, name: Any = None) -> Any:
    """``tf.contrib.tpu.repeat``: runs ``body`` n times, each time on its last outputs."""
    def counted(number: Any, *values: Any) -> list[Any]:
        results = body(*values)
        results = [] if results is None else results if isinstance(results, (list, tuple)) else [results]
        return [number + 1, *results]
    outputs = graph_while_loop(lambda number, *_: number < n, counted, [constant(0), *(inputs or ())], name=name)
    outputs = outputs[1:] if isinstance(outputs, (list, tuple)) else []
    return outputs[0] if len(outputs) == 1 else outputs


@contextmanager
def bfloat16_scope(name: str | None = None) -> Iterator[Any]:
    """``tf.contrib.tpu.bfloat16_scope``: variables that are asked for as bfloat16 are kept as float32, and cast when they are read."""
    def wide(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if dtypes.as_dtype(kwargs.get("dtype") or dtypes.float32) != dtypes.bfloat16:
            return getter(*args, **kwargs)
        return cast(getter(*args, **{**kwargs, "dtype": dtypes.float32}), dtypes.bfloat16)
    with variable_scope("" if name is None else name, custom_getter=wide) as scope:
        yield scope
