"""Transformations that mix several datasets: parallel_interleave, sample_from_datasets, choose_from_datasets."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.data import element_nest, structure
from penstock.data.dataset import Dataset, dataset_structure, int64
from penstock.data.seed_tensors import seed_tensors
from penstock.data.structure import TensorSpec
from penstock.data.traced_function import ElementFunction
from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.shape import TensorShape
from penstock.ops.array.cast import cast
from penstock.ops.array.shape_ops import expand_dims, squeeze
from penstock.ops.data.dataset_order import DirectedInterleaveDataset
from penstock.ops.data.dataset_parallel import ParallelInterleaveDataset
from penstock.ops.data.dataset_sources import RandomDataset as RandomDatasetOp
from penstock.ops.math.powers import log
from penstock.ops.random.random_stateless import stateless_multinomial

Transformation = Callable[[Dataset], Dataset]
_NUMBER = TensorSpec(dt.int64, TensorShape(()))


def parallel_interleave(map_func: Callable[..., Any], cycle_length: Any, block_length: Any = 1, sloppy: Any = False,
                        buffer_output_elements: Any = None, prefetch_input_elements: Any = None) -> Transformation:
    """As ``Dataset.interleave``, with ``cycle_length`` threads that read ahead."""
    def transform(dataset: Dataset) -> Dataset:
        traced = ElementFunction(map_func, "tf.data.experimental.parallel_interleave()", dataset._structure)
        inner = dataset_structure(traced, "parallel_interleave")
        ahead = 2 * block_length if buffer_output_elements is None else buffer_output_elements
        inputs = [int64(cycle_length, "cycle_length"), int64(block_length, "block_length"), to_tensor(sloppy, dt.bool_, name="sloppy"),
                  int64(ahead, "buffer_output_elements"),
                  int64(2 * cycle_length if prefetch_input_elements is None else prefetch_input_elements, "prefetch_input_elements")]
        with traced.after_control_captures():
            return dataset._derive(ParallelInterleaveDataset, traced.captures, *inputs, specs=inner, f=traced.graph)
    return transform


def sloppy_interleave(map_func: Callable[..., Any], cycle_length: Any, block_length: Any = 1) -> Transformation:
    """As ``parallel_interleave``; a dataset whose next element is not ready is passed over, so that the order of elements varies."""
    return parallel_interleave(map_func, cycle_length, block_length, sloppy=True)


class RandomDataset(Dataset):
    """Random numbers without end."""

    def __init__(self, seed: Any = None) -> None:
        super().__init__(RandomDatasetOp(*seed_tensors(seed), **structure.output_attrs(_NUMBER)), _NUMBER)


def _interleave_by(selector: Dataset, datasets: list[Dataset]) -> Dataset:
    first = datasets[0]
    specs = first._structure
    for other in datasets[1:]:
        if first.output_types != other.output_types or first.output_classes != other.output_classes:
            raise TypeError(f"All datasets must have the same type and class: {first.output_types} and {other.output_types}")
        specs = element_nest.map_structure(lambda mine, theirs: mine.common(theirs), specs, other._structure)
    variant = DirectedInterleaveDataset(selector._variant_tensor, [dataset._variant_tensor for dataset in datasets], **structure.output_attrs(specs))
    return Dataset(variant, specs)


def choose_from_datasets(datasets: Any, choice_dataset: Dataset) -> Dataset:
    """Elements of several datasets, in the order of the numbers that ``choice_dataset`` gives."""
    if choice_dataset.output_types is not dt.int64 or not choice_dataset.output_shapes.is_compatible_with([]):
        raise TypeError("`choice_dataset` must be a dataset of scalar `tf.int64` tensors.")
    return _interleave_by(choice_dataset, list(datasets))


def sample_from_datasets(datasets: Any, weights: Any = None, seed: Any = None) -> Dataset:
    """Elements of several datasets, drawn at random: with equal chances, those in ``weights``, or those that a dataset of weights gives."""
    datasets = list(datasets)
    if isinstance(weights, Dataset):
        logits = weights.map(lambda *p: log(p[0], name="logits"))
        pairs = Dataset.zip((logits, RandomDataset(seed).batch(2)))
        return _interleave_by(pairs.map(_draw), datasets)
    if weights is None:
        values = np.zeros([1, len(datasets)], np.float32)
    else:
        given = weights if not isinstance(weights, (list, tuple)) else np.asarray(weights, np.float32)
        tensor = to_tensor(given, name="weights")
        if not tensor.shape.is_compatible_with([len(datasets)]):
            raise ValueError("`weights` must be a vector of length `len(datasets)`.")
        values = expand_dims(log(tensor, name="logits"), 0)
    if len(datasets) == 1:
        return datasets[0]
    return _interleave_by(RandomDataset(seed).batch(2).map(lambda seed: _draw(values, seed)), datasets)


def _draw(logits: Any, seed: Any) -> Any:
    logits = to_tensor(logits)
    rows = logits if logits.shape.ndims == 2 else expand_dims(logits, 0)
    return squeeze(stateless_multinomial(cast(rows, dt.float32), 1, seed=seed), axis=[0, 1])
