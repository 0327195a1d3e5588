"""From what users pass to ``fit``, ``evaluate`` and ``predict`` to a Run: the source of its batches, and the step.

Keras has two loops, which count, shuffle and limit batches differently: that of graphs, which generators use in imperative style, too, and the newer
one of imperative style (``Loop.is_newer``).
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.graph import nest
from penstock.graph.function import outermost
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.imperative.eager_graph import EagerGraph
from penstock.keras.engine import multi_worker
from penstock.keras.engine.batches import ArraySource, CallSource, CountedBatches, Source, WholeArraySource, dataset_source, tensor_source
from penstock.keras.engine.generators import GeneratorSource, SequenceSource, Workers
from penstock.keras.engine.loop import Run
from penstock.keras.utils.data import Sequence


class Data(NamedTuple):
    """What a loop goes over."""

    x: Any
    y: Any = None
    sample_weight: Any = None
    class_weight: Any = None


class Loop(NamedTuple):
    """Which of Keras's loops it is, and who fetches its batches."""

    workers: Workers = Workers()
    is_newer: bool = False


def make(model: Any, mode: str, data: Data, loop: Loop, batch_size: int | None, steps: int | None, verbose: int, shuffle: Any = False,
         epochs: int | None = None, validates: bool = False) -> Run:
    """How to run one epoch over some data; ``epochs`` is how many there will be."""
    x, y = data.x, data.y
    shared = mode == "train" and multi_worker.are_several(model._strategy)
    symbolic = x is not None and y is not None and any(isinstance(value, Tensor) for value in nest.flatten((x, y)))
    if has_batches(x):
        _check_only_batches(data, batch_size, symbolic)
    steps_name = "validation_steps" if validates else "steps_per_epoch" if mode == "train" else "steps"
    source = _source((x, y) if symbolic else x, mode, steps, steps_name, loop, shuffle)
    if source is not None:
        if not model.inputs and mode != "predict":  # names of metrics are asked for before the first batch
            model._ensure_inputs(unpacked(source.first(), mode)[0])
        take = _share_of_batches(model, source, data.class_weight) if shared else lambda element: element
        return Run(model, mode, source, lambda arrays: model._run_batch(mode, source, take(arrays[0]), data.class_weight), batch_size, verbose,
                   steps_name, loop.is_newer)
    if x is None and model.inputs and model._feed_inputs:
        raise ValueError("When using data tensors as input to a model, you should specify the `steps_per_epoch` argument." if steps is None else
                         f"The model has inputs that are fed, {model._feed_input_names}, but `x` is None.")
    xs, ys, weights = model._standardize(*data, training=mode != "predict")
    arrays = [*xs, *ys, *(weight for weight in weights if weight is not None)]

    def run(source: Source, batch_size: int | None) -> Run:
        step = model._predict_function(source) if mode == "predict" else model._step_for(mode, weights, source)
        return Run(model, mode, source, step, batch_size, verbose, steps_name, loop.is_newer)

    if not arrays:  # all that the model needs are tensors of the user's
        if steps is None:
            raise ValueError("If your model has no inputs that are fed, you should specify the number of steps.")
        return run(CallSource(list, list, steps, None), batch_size)
    batch_size = _checked_batch_size(model, batch_size)
    if steps is not None and not shared and not loop.is_newer:
        return run(WholeArraySource(arrays, steps), batch_size)
    size = _size_of_batches(len(arrays[0]), batch_size, steps, validates)
    if model.stateful and len(arrays[0]) % size:
        raise ValueError("In a stateful network, you should only pass inputs with a number of samples that can be divided by the batch size. "
                         f"Found: {len(arrays[0])} samples")
    if shared:
        arrays, size = multi_worker.share_of(model._strategy, arrays), multi_worker.share_of_size(model._strategy, size)
    limit = steps if loop.is_newer and not shared else None
    source = ArraySource(arrays, size, shuffle, epochs if loop.is_newer else None, limit, mode == "train")
    counts = model._strategy is not None and not loop.is_newer and not multi_worker.are_several(model._strategy)
    counts = counts and (mode == "train" or len(arrays[0]) % size == 0)  # TensorFlow evaluates no batch that is smaller
    return run(CountedBatches(source) if counts else source, size)


def held_out(training: Run, data: Data, loop: Loop, batch_size: int | None, steps: int | None, verbose: int) -> Run:
    """How to evaluate after epochs of a training."""
    of_generator = isinstance(training.source, (GeneratorSource, SequenceSource))
    arrays = not has_batches(data.x)
    if arrays and of_generator and not loop.is_newer:
        steps = None  # as TensorFlow has it: all batches are evaluated
    if arrays and loop.is_newer and isinstance(training.source, ArraySource):
        batch_size = training.batch_size
    # In graphs Keras shuffles arrays of these, too: which batches come next in training depends on it, since both use NumPy's generator.
    shuffles = arrays and not isinstance(outermost(default_graph()), EagerGraph)
    shown = verbose if of_generator and not loop.is_newer else 0  # only an evaluation of theirs has a bar
    return make(training.model, "test", data, loop, batch_size if arrays else None, steps, shown, shuffles, validates=True)


def _check_only_batches(data: Data, batch_size: int | None, symbolic: bool) -> None:
    """ValueError for what goes with arrays only."""
    x, y = data.x, data.y
    if batch_size is not None:
        raise ValueError(f"The `batch_size` argument must not be specified for the given input type. Received input: {x}, batch_size: {batch_size}")
    if symbolic:
        return
    if y is not None:
        if hasattr(x, "make_initializable_iterator"):
            raise ValueError(f"You passed a dataset or dataset iterator ({x}) as input `x` to your model. In that case, you should not specify a "
                             f"target (`y`) argument, since the dataset or dataset iterator generates both input data and target data. Received: "
                             f"{y}")
        raise ValueError("`y` argument is not supported when data is a generator or Sequence instance. Instead pass targets as the second element of "
                         "the generator.")
    if data.sample_weight is not None:
        raise ValueError("`sample_weight` argument is not supported when data is a dataset, a generator or Sequence instance. Instead pass sample "
                         "weights as the third element of what it gives.")


def _source(x: Any, mode: str, steps: int | None, steps_name: str, loop: Loop, shuffle: Any) -> Source | None:
    """The source of batches of a dataset, a generator, a Sequence or tensors; None for arrays."""
    def unchanged(value: Any) -> Any:
        return [value]

    if hasattr(x, "make_initializable_iterator"):
        return dataset_source(x, unchanged, steps, steps_name)
    if isinstance(x, Sequence) and (loop.is_newer or mode != "train"):
        return SequenceSource(x, unchanged, steps, loop.workers, bool(shuffle), loop.is_newer, mode == "train")
    if has_batches(x):
        return GeneratorSource(x, unchanged, steps, loop.workers, bool(shuffle), steps_name, loop.is_newer)
    if any(isinstance(value, Tensor) for value in nest.flatten(x)):
        if steps is None:
            raise ValueError("When using data tensors as input to a model, you should specify the `steps_per_epoch` argument.")
        return tensor_source(x, unchanged, steps)
    return None


def _share_of_batches(model: Any, source: Source, class_weight: Any) -> Callable[[Any], Any]:
    """What takes this worker's part of the batches of a source; the step of training is made, so that all workers can begin it together."""
    model._step_for("train", model._standardize(*unpacked(source.first(), "train"), class_weight)[2])
    return functools.partial(multi_worker.share_of, model._strategy)


def _checked_batch_size(model: Any, given: int | None) -> int | None:
    """The size of batches: what was asked for, which must be that of the inputs if they have one."""
    if given is not None and given < 1:
        raise ValueError(f"`batch_size` should be a positive number of samples. Found: {given}")
    shapes = [tensor.shape.as_list() for tensor in model._feed_inputs if tensor.shape.ndims and model._is_graph_network]
    fixed = shapes[0][0] if shapes else None
    if given and fixed and given != fixed:
        raise ValueError(f"The `batch_size` argument value {given} is incompatible with the specified batch size of your Input Layer: {fixed}")
    return given or fixed


def _size_of_batches(samples: int, given: int | None, steps: int | None, validates: bool) -> int:
    """The size of batches of so many samples. ValueError if there are not enough of them for so many steps, but for validation, which then ends."""
    if steps is None:
        return given or 32
    if validates:
        return given or -(-samples // steps)
    if given is None:
        if samples % steps:
            raise ValueError(f"The number of samples {samples} is not divisible by steps {steps}. Please change the number of steps to a value that "
                             "can consume all the samples")
        return samples // steps
    if given * steps > samples:
        raise ValueError(f"Number of samples {samples} is less than samples required for specified batch_size {given} and steps {steps}")
    return given


def unpacked(element: Any, mode: str) -> tuple[Any, Any, Any]:
    """(inputs, targets, weights) of what a generator or a dataset gave."""
    if mode == "predict":
        return (element[0] if isinstance(element, tuple) and len(element) in (2, 3) else element), None, None
    element = element if isinstance(element, tuple) else (element,)  # a list, too, is inputs alone
    if len(element) not in (1, 2, 3):
        raise ValueError(f"Output of generator should be a tuple of 1 or 2 or 3 elements: (input,) or (input, target) or (input, target, "
                         f"sample_weights). Received {element}")
    return (*element, *[None] * (3 - len(element)))


def has_batches(x: Any) -> bool:
    """Whether data come in batches already: as a dataset, a generator or a Sequence."""
    return hasattr(x, "make_initializable_iterator") or isinstance(x, Sequence) or (hasattr(x, "__next__") and not isinstance(x, Tensor))


def unpacked_validation(data: Any) -> tuple[Any, Any, Any]:
    """(inputs, targets, weights) of what is held out."""
    if hasattr(data, "make_initializable_iterator") or hasattr(data, "__next__") or isinstance(data, Sequence):
        return data, None, None
    if not isinstance(data, (list, tuple)) or len(data) not in (1, 2, 3):
        raise ValueError("When passing a `validation_data` argument, it must contain either 2 items (x_val, y_val), or 3 items (x_val, y_val, "
                         "val_sample_weights), or alternatively it could be a dataset or a dataset or a dataset iterator. However we received "
                         f"`validation_data={data}`")
    return (*data, *[None] * (3 - len(data)))
