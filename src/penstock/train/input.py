"""Producers: queues that offer file names, numbers or slices, epoch after epoch, in order or shuffled."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Tensor
from penstock.graph.scopes import control_dependencies, name_scope
from penstock.graph.shape import scalar
from penstock.ops.array.cast import cast
from penstock.ops.array.gather import gather
from penstock.ops.array.sequences import range as range_
from penstock.ops.array.shape_ops import shape, size
from penstock.ops.constant import constant, identity
from penstock.ops.flow.misc import Assert
from penstock.ops.math.compare import greater
from penstock.ops.queues.queue_classes import FIFOQueue, QueueBase
from penstock.ops.random.random import random_shuffle
from penstock.ops.text.files import matching_files
from penstock.summary import summary
from penstock.train.queue_runner import QueueRunner, add_queue_runner
from penstock.variables.variable import Variable


def match_filenames_once(pattern: Any, name: str | None = None) -> Variable:
    """``tf.train.match_filenames_once``: a local variable with the paths that match a pattern when it is initialized."""
    with name_scope(name, "matching_filenames", [pattern]) as scope:
        return Variable(name=scope, initial_value=matching_files(pattern), trainable=False, validate_shape=False,
                        collections=[GraphKeys.LOCAL_VARIABLES])


def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Tensor:
    """``tf.train.limit_epochs``: ``tensor``, that many times; then OutOfRangeError. The count is a local variable."""
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with name_scope(name, "limit_epochs", [tensor]) as scope:
        epochs = Variable(constant(0, dt.int64), name="epochs", trainable=False, collections=[GraphKeys.LOCAL_VARIABLES])
        with control_dependencies([epochs.count_up_to(num_epochs)]):
            return identity(tensor, name=scope)


QUEUES_NEED_GRAPHS = ("Input pipelines based on Queues are not supported when eager execution is enabled. Please use tf.data to ingest data into "
                      "your model instead.")


def input_producer(input_tensor: Any, element_shape: Any = None, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None,
                   capacity: int = 32, shared_name: str | None = None, summary_name: str | None = None, name: str | None = None,
                   cancel_op: Any = None) -> QueueBase:
    """``tf.train.input_producer``: a queue of the rows of ``input_tensor``, epoch after epoch; a queue runner fills it."""
    if default_graph().imperative:
        raise RuntimeError(QUEUES_NEED_GRAPHS)
    with name_scope(name, "input_producer", [input_tensor]) as scope:
        input_tensor = to_tensor(input_tensor, name="input_tensor")
        element_shape = input_tensor.shape[1:].merge_with(element_shape)
        if not element_shape.is_fully_defined():
            raise ValueError("Either `input_tensor` must have a fully defined shape or `element_shape` must be specified")
        if shuffle:
            input_tensor = random_shuffle(input_tensor, seed=seed)
        input_tensor = limit_epochs(input_tensor, num_epochs)
        queue = FIFOQueue(capacity, dtypes=[input_tensor.dtype.base_dtype], shapes=[element_shape], shared_name=shared_name, name=scope)
        add_queue_runner(QueueRunner(queue, [queue.enqueue_many([input_tensor])], cancel_op=cancel_op))
        if summary_name is not None:
            summary.scalar(summary_name, cast(queue.size(), dt.float32) * (1.0 / capacity))
        return queue


def string_input_producer(string_tensor: Any, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None, capacity: int = 32,
                          shared_name: str | None = None, name: str | None = None, cancel_op: Any = None) -> QueueBase:
    """``tf.train.string_input_producer``: a queue of strings, such as the names of files that a reader takes from it."""
    complaint = "string_input_producer requires a non-null input tensor"
    if not isinstance(string_tensor, (Tensor, Variable)) and not list(string_tensor):
        raise ValueError(complaint)
    with name_scope(name, "input_producer", [string_tensor]) as scope:
        string_tensor = to_tensor(string_tensor, dt.string)
        with control_dependencies([Assert(greater(size(string_tensor), 0), [complaint])]):
            string_tensor = identity(string_tensor)
        return input_producer(string_tensor, scalar(), num_epochs, shuffle, seed, capacity, shared_name, f"fraction_of_{capacity}_full", scope,
                              cancel_op)


def range_input_producer(limit: Any, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None, capacity: int = 32,
                         shared_name: str | None = None, name: str | None = None) -> QueueBase:
    """``tf.train.range_input_producer``: a queue of the integers below ``limit``."""
    with name_scope(name, "input_producer", [limit]) as scope:
        return input_producer(range_(limit), scalar(), num_epochs, shuffle, seed, capacity, shared_name, f"fraction_of_{capacity}_full", scope)


def slice_input_producer(tensor_list: Any, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None, capacity: int = 32,
                         shared_name: str | None = None, name: str | None = None) -> list[Tensor]:
    """``tf.train.slice_input_producer``: of each tensor one slice along its first axis, the same for all."""
    with name_scope(name, "input_producer", list(tensor_list)):
        if not tensor_list:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        tensors = [to_tensor(tensor) for tensor in tensor_list]
        count = shape(tensors[0])[0]
        index = range_input_producer(count, num_epochs, shuffle, seed, capacity, shared_name).dequeue()
        return [gather(tensor, index) for tensor in tensors]
