"""``tf.data.Dataset``: a sequence of elements, made by operations of the graph."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from penstock.data import element_nest, structure
from penstock.data.dataset_options import Options
from penstock.data.generator import from_generator
from penstock.data.iterator import EagerIterator, Iterator
from penstock.data.padding import padded_batch
from penstock.data.seed_tensors import seed_tensors
from penstock.data.traced_function import ElementFunction, copy_into_function
from penstock.errors import InvalidArgumentError
from penstock.graph import dtypes as dt
from penstock.graph import version2
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.function import outermost
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.opdef import OpDef
from penstock.graph.scopes import colocate_with, control_dependencies, name_scope
from penstock.graph.shape import TensorShape
from penstock.graph.static import constant_value
from penstock.ops.array.shape_ops import shape
from penstock.ops.constant import identity
from penstock.ops.data import dataset_batch, dataset_cache, dataset_functions, dataset_order, dataset_parallel, dataset_shuffle, dataset_sources
from penstock.ops.data.iterator import IteratorV2, MakeIterator, OneShotIterator
from penstock.ops.flow.control_flow import cond
from penstock.ops.flow.misc import Assert
from penstock.ops.math.compare import greater, logical_not
from penstock.ops.math.elementwise import add, maximum
from penstock.ops.text.files import matching_files
from penstock.ops.text.strings import reduce_join

AUTOTUNE = -1
_names = itertools.count()


def int64(value: Any, name: str) -> Tensor:
    """A number as an input of a dataset op."""
    return to_tensor(value, dt.int64, name=name)


class UnfitShard(InvalidArgumentError, ValueError):
    """A shard that there is not. Up to TensorFlow 1.8 it was a ValueError."""


class UnfitConcatenation(TypeError, ValueError):
    """Datasets of different types that should follow each other. Up to TensorFlow 1.4 it was a ValueError where their structures differ."""


_DEFAULT_OPTIMIZATIONS = ["map_and_batch_fusion", "noop_elimination", "shuffle_and_repeat_fusion"]


class Dataset(structure.Structured):
    """A sequence of elements. An element is a structure of tensors, sparse tensors and datasets: tuples, namedtuples and dicts inside one another.

    >>> import penstock as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     dataset = tf.data.Dataset.range(6).map(lambda x: x * x).batch(4)
    ...     batch = dataset.make_one_shot_iterator().get_next()
    ...     sess.run(batch).tolist(), sess.run(batch).tolist()
    ([0, 1, 4, 9], [16, 25])
    """

    def __init__(self, variant_tensor: Tensor, specs: Any, options: Options | None = None) -> None:
        self._variant_tensor, self._structure = variant_tensor, specs
        self._options = options or Options()

    @staticmethod
    def _of(variant_tensor: Tensor, specs: Any) -> Dataset:
        return Dataset(variant_tensor, specs)

    def _derive(self, definition: OpDef, *inputs: Any, specs: Any = None, **attrs: Any) -> Dataset:
        """The dataset that an op makes of this one; its elements have the same structure, unless ``specs`` says otherwise."""
        specs = self._structure if specs is None else specs
        attrs.update((name, value) for name, value in structure.output_attrs(specs).items() if name in definition.attrs)
        variant = definition(self._variant_tensor, *inputs, **attrs)
        return Dataset(variant, specs, self._options)

    # --- what it is --------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<DatasetV1Adapter shapes: {_readable(self.output_shapes)}, types: {_readable(self.output_types)}>"

    def __iter__(self) -> Any:
        if default_graph().imperative:
            return EagerIterator(self)
        raise RuntimeError("__iter__() is only supported inside of tf.function or when eager execution is enabled.")

    # --- sources -----------------------------------------------------------------------------------------------------

    @staticmethod
    def from_tensors(tensors: Any) -> Dataset:
        """One element."""
        element = structure.normalize(tensors)
        specs = structure.structure_of(element)
        components = structure.encode(specs, element)
        return Dataset(dataset_sources.TensorDataset(components, output_shapes=structure.output_attrs(specs)["output_shapes"]), specs)

    @staticmethod
    def from_tensor_slices(tensors: Any) -> Dataset:
        """The slices of the tensors along their first axis."""
        element = structure.normalize(tensors)
        whole = structure.structure_of(element)
        leaves = element_nest.flatten(whole)
        length = leaves[0].batched(None).unbatched().shape[:1]
        for spec in leaves:
            if spec.shape.ndims == 0:
                raise ValueError(f"Cannot take slices of a scalar: {spec!r}")
            length.assert_is_compatible_with(spec.shape[:1])
        specs = element_nest.map_structure(lambda spec: spec.unbatched(), whole)
        components = [spec.encode_rows(leaf) for spec, leaf in zip(leaves, element_nest.flatten(element))]
        return Dataset(dataset_sources.TensorSliceDataset(components, output_shapes=structure.output_attrs(specs)["output_shapes"]), specs)

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor: SparseTensor) -> Dataset:
        """The rows of a sparse tensor, each as (indices, values, dense_shape)."""
        if not isinstance(sparse_tensor, SparseTensor):
            raise TypeError(f"`sparse_tensor` must be a `tf.SparseTensor` object. Was {sparse_tensor!r}.")
        rank = sparse_tensor.shape.ndims
        row_rank = None if rank is None else rank - 1
        specs = tuple(structure.TensorSpec(dtype, TensorShape(extents)) for dtype, extents in (
            (dt.int64, [None, row_rank]), (sparse_tensor.dtype, [None]), (dt.int64, [row_rank])))
        parts = sparse_tensor.indices, sparse_tensor.values, sparse_tensor.dense_shape
        return Dataset(dataset_sources.SparseTensorSliceDataset(*parts), specs)

    @staticmethod
    def range(*args: Any) -> Dataset:
        """The numbers ``range(*args)``."""
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Invalid arguments to RangeDataset: {args}")
        start, stop, step = {1: (0, *args, 1), 2: (*args, 1), 3: args}[len(args)]
        specs = structure.TensorSpec(dt.int64, TensorShape(()))
        inputs = [int64(start, "start"), int64(stop, "stop"), int64(step, "step")]
        return Dataset(dataset_sources.RangeDataset(*inputs, **structure.output_attrs(specs)), specs)

    @staticmethod
    def from_generator(generator: Callable[..., Any], output_types: Any, output_shapes: Any = None, args: Any = None) -> Dataset:
        """The elements that a Python generator yields; ``generator(*args)`` is called at the start of each epoch."""
        return from_generator(Dataset, generator, output_types, output_shapes, args)

    @staticmethod
    def zip(datasets: Any) -> Dataset:
        """Elements made of one element of each of a structure of datasets."""
        for dataset in element_nest.flatten(datasets):
            if not isinstance(dataset, Dataset):
                hint = " Nested structures do not support Python lists; please use a tuple instead." if isinstance(dataset, list) else ""
                raise TypeError(f"The argument to `Dataset.zip()` must be a nested structure of `Dataset` objects.{hint}")
        flat = element_nest.flatten(datasets)
        specs = element_nest.pack_sequence_as(datasets, [dataset._structure for dataset in flat])
        variant = dataset_order.ZipDataset([dataset._variant_tensor for dataset in flat], **structure.output_attrs(specs))
        return Dataset(variant, specs)

    @staticmethod
    def list_files(file_pattern: Any, shuffle: bool | None = None, seed: Any = None) -> Dataset:
        """The names of the files that match a pattern, in random order unless ``shuffle`` is False."""
        with name_scope("list_files"):
            pattern = to_tensor(file_pattern, dt.string, name="file_pattern")
            names = matching_files(pattern)
            some = greater(shape(names)[0], 0, name="match_not_empty")
            message = add("No files matched pattern: ", reduce_join(pattern, separator=", "), name="message")
            with control_dependencies([Assert(some, [message], summarize=1, name="assert_not_empty")]):
                names = identity(names)
            dataset = Dataset.from_tensor_slices(names)
            if shuffle is None or shuffle:
                dataset = dataset.shuffle(maximum(shape(names, out_type=dt.int64)[0], 1), seed=seed)
        return dataset

    # --- transformations ---------------------------------------------------------------------------------------------

    def map(self, map_func: Callable[..., Any], num_parallel_calls: Any = None, *, num_threads: Any = None,
            output_buffer_size: Any = None) -> Dataset:
        """The results of a function on each element, in the order of the elements; ``num_parallel_calls`` of them are computed at once.

        ``num_threads`` and ``output_buffer_size`` are what TensorFlow 1.3 called ``num_parallel_calls`` and a ``prefetch`` after it.
        """
        if output_buffer_size is not None:
            return self.map(map_func, num_parallel_calls or num_threads).prefetch(output_buffer_size)
        num_parallel_calls = num_threads if num_parallel_calls is None else num_parallel_calls
        traced = ElementFunction(map_func, "Dataset.map()", self._structure)
        with traced.after_control_captures():
            if num_parallel_calls is None:
                return self._derive(dataset_functions.MapDataset, traced.captures, specs=traced.output, f=traced.graph, preserve_cardinality=True)
            parallel = to_tensor(num_parallel_calls, dt.int32, name="num_parallel_calls")
            return self._derive(dataset_parallel.ParallelMapDataset, traced.captures, parallel, specs=traced.output, f=traced.graph,
                                preserve_cardinality=True)

    map_with_legacy_function = map

    def filter(self, predicate: Callable[..., Any]) -> Dataset:
        """The elements for which a function is true."""
        traced = ElementFunction(predicate, "Dataset.filter()", self._structure)
        traced.expect_scalar(dt.bool_, "`predicate`")
        with traced.after_control_captures():
            return self._derive(dataset_functions.FilterDataset, traced.captures, predicate=traced.graph)

    filter_with_legacy_function = filter

    def flat_map(self, map_func: Callable[..., Any]) -> Dataset:
        """The elements of the datasets that a function makes of each element."""
        traced = ElementFunction(map_func, "Dataset.flat_map()", self._structure)
        inner = dataset_structure(traced, "flat_map")
        with traced.after_control_captures():
            return self._derive(dataset_functions.FlatMapDataset, traced.captures, specs=inner, f=traced.graph)

    def interleave(self, map_func: Callable[..., Any], cycle_length: Any = AUTOTUNE, block_length: Any = 1,
                   num_parallel_calls: Any = None) -> Dataset:
        """As flat_map, but ``cycle_length`` datasets are read in turn, ``block_length`` elements at a time."""
        traced = ElementFunction(map_func, "Dataset.interleave()", self._structure)
        inner = dataset_structure(traced, "interleave")
        inputs = [int64(dataset_parallel.PROCESSORS if isinstance(cycle_length, int) and cycle_length == AUTOTUNE else cycle_length, "cycle_length"),
                  int64(block_length, "block_length")]
        definition = dataset_functions.InterleaveDataset
        if num_parallel_calls is not None:
            inputs.append(int64(num_parallel_calls, "num_parallel_calls"))
            definition = dataset_parallel.ParallelInterleaveDatasetV2
        with traced.after_control_captures():
            return self._derive(definition, traced.captures, *inputs, specs=inner, f=traced.graph)

    def batch(self, batch_size: Any, drop_remainder: Any = False) -> Dataset:
        """Elements stacked, ``batch_size`` at a time; the last batch is smaller, or dropped."""
        size, drop = int64(batch_size, "batch_size"), to_tensor(drop_remainder, dt.bool_, name="drop_remainder")
        specs = element_nest.map_structure(lambda spec: spec.batched(batch_length(size, drop)), self._structure)
        return self._derive(dataset_batch.BatchDatasetV2, size, drop, specs=specs)

    def padded_batch(self, batch_size: Any, padded_shapes: Any, padding_values: Any = None, drop_remainder: Any = False) -> Dataset:
        """Elements stacked after each was padded to ``padded_shapes``, or where that is None or -1, to the longest in the batch."""
        return padded_batch(self, batch_size, padded_shapes, padding_values, drop_remainder)

    def window(self, size: Any, shift: Any = None, stride: Any = 1, drop_remainder: Any = False) -> Dataset:
        """Datasets of ``size`` elements each, every ``stride``-th; a window starts ``shift`` elements after the one before."""
        inputs = [int64(size, "size"), int64(size if shift is None else shift, "shift"), int64(stride, "stride"),
                  to_tensor(drop_remainder, dt.bool_, name="drop_remainder")]
        specs = element_nest.map_structure(lambda spec: structure.DatasetSpec(spec, Dataset._of), self._structure)
        return self._derive(dataset_batch.WindowDataset, *inputs, specs=specs)

    def shuffle(self, buffer_size: Any, seed: Any = None, reshuffle_each_iteration: bool | None = None) -> Dataset:
        """The elements in random order, each drawn from the next ``buffer_size`` ones; reshuffled in each epoch by default."""
        size, seeds = int64(buffer_size, "buffer_size"), seed_tensors(seed)
        if reshuffle_each_iteration is not False and version2.enabled() and outermost(default_graph()).imperative:
            return self._derive(dataset_shuffle.ShuffleDatasetV2, size, dataset_shuffle.AnonymousRandomSeedGenerator(*seeds)[0])
        return self._derive(dataset_shuffle.ShuffleDataset, size, *seeds,
                            reshuffle_each_iteration=True if reshuffle_each_iteration is None else reshuffle_each_iteration)

    def repeat(self, count: Any = None) -> Dataset:
        """The dataset ``count`` times; without end if it is None or -1."""
        return self._derive(dataset_order.RepeatDataset, int64(-1 if count is None else count, "count"))

    def take(self, count: Any) -> Dataset:
        """The first ``count`` elements."""
        return self._derive(dataset_order.TakeDataset, int64(count, "count"))

    def skip(self, count: Any) -> Dataset:
        """All but the first ``count`` elements."""
        return self._derive(dataset_order.SkipDataset, int64(count, "count"))

    def shard(self, num_shards: Any, index: Any) -> Dataset:
        """Every ``num_shards``-th element, from number ``index`` on: one worker's part."""
        if isinstance(num_shards, int) and num_shards < 1:
            raise UnfitShard(None, None, f"num_shards must be >= 1; got {num_shards}")
        if isinstance(index, int) and (index < 0 or (isinstance(num_shards, int) and index >= num_shards)):
            raise UnfitShard(None, None, f"index must be >= 0 and < num_shards; got index {index} of {num_shards}")
        return self._derive(dataset_order.ShardDataset, int64(num_shards, "num_shards"), int64(index, "index"))

    def prefetch(self, buffer_size: Any) -> Dataset:
        """The same elements, up to ``buffer_size`` of them made ahead in the background."""
        return self._derive(dataset_parallel.PrefetchDataset, int64(AUTOTUNE if buffer_size is None else buffer_size, "buffer_size"))

    def cache(self, filename: Any = "") -> Dataset:
        """The same elements, made only in the first epoch and then kept, in memory or in a file."""
        return self._derive(dataset_cache.CacheDataset, to_tensor(filename, dt.string, name="filename"))

    def concatenate(self, dataset: Dataset) -> Dataset:
        """These elements, then those of another dataset."""
        one, other = self._structure, dataset._structure
        if self.output_types != dataset.output_types:
            counts = [len(element_nest.flatten(each.output_types)) for each in (self, dataset)]
            hint = "" if counts[0] == counts[1] else f": they don't have the same number of elements, {counts[0]} and {counts[1]}"
            raise UnfitConcatenation(f"Two datasets to concatenate have different types {self.output_types} and {dataset.output_types}{hint}")
        specs = element_nest.map_structure(lambda mine, theirs: mine.common(theirs), one, other)
        return self._derive(dataset_order.ConcatenateDataset, dataset._variant_tensor, specs=specs)

    def enumerate(self, start: Any = 0) -> Dataset:
        """Pairs of a number and an element."""
        return Dataset.zip((Dataset.range(start, dt.int64.max), self))

    def unbatch(self) -> Dataset:
        """The slices of the elements along their first axis."""
        specs = element_nest.map_structure(lambda spec: spec.unbatched(), self._structure)
        source = self
        if any(isinstance(spec, structure.SparseTensorSpec) for spec in element_nest.flatten(self._structure)):
            source = self._with_rows()
        return source._derive(dataset_batch.UnbatchDataset, specs=specs)

    def _with_rows(self) -> Dataset:
        """A dataset whose sparse components travel row by row, so that they can be cut like dense ones."""
        def rows(*element: Any) -> Any:
            whole = element if type(self._structure) is tuple else element[0]
            leaves = [spec.encode_rows(leaf) for spec, leaf in zip(element_nest.flatten(self._structure), element_nest.flatten(whole))]
            return element_nest.pack_sequence_as(self._structure, leaves)
        return self.map(rows)

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any]) -> Any:
        """The state after ``state = reduce_func(state, element)`` for each element: tensors, not a dataset."""
        with name_scope("initial_state"):
            state = structure.normalize(initial_state)
        specs = structure.structure_of(state)
        traced = trace_with_state(reduce_func, "Dataset.reduce()", specs, self._structure, lambda result: result)
        with traced.after_control_captures():
            outputs = dataset_functions.ReduceDataset(self._variant_tensor, structure.encode(traced.state, state), traced.captures, f=traced.graph,
                                                      **structure.output_attrs(traced.state))
        return structure.decode(traced.state, outputs)

    def _take_while(self, predicate: Callable[..., Any]) -> Dataset:
        """``tf.data.experimental.take_while``."""
        traced = ElementFunction(predicate, "tf.data.experimental.take_while()", self._structure)
        traced.expect_scalar(dt.bool_, "`predicate`")
        with traced.after_control_captures():
            return self._derive(dataset_functions.TakeWhileDataset, traced.captures, predicate=traced.graph)

    def _scan(self, initial_state: Any, scan_func: Callable[..., Any]) -> Dataset:
        """``tf.data.experimental.scan``."""
        state = structure.normalize(initial_state)

        def new_state(result: Any) -> Any:
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError("The scan function must return a pair comprising the new state and the output value.")
            return result[0]

        traced = trace_with_state(scan_func, "tf.data.experimental.scan()", structure.structure_of(state), self._structure, new_state)
        with traced.after_control_captures():
            return self._derive(dataset_functions.ScanDataset, structure.encode(traced.state, state), traced.captures, specs=traced.output[1],
                                f=traced.graph)

    def _autograph_for_loop(self, start: list[Any], step: Callable[..., Any], stop: Callable[..., Any] | None) -> Any:
        """A loop over the dataset in a converted function: the values after ``step(values, element)`` for each element, until ``stop(values)``."""
        if stop is None:
            return self.reduce(tuple(start), lambda values, element: tuple(step(values, element)))

        def turn(values: Any, element: Any) -> Any:
            more = logical_not(stop(values))
            after = cond(more, lambda: tuple(step(values, element)), lambda: tuple(values), strict=True)
            return after, (after, more)

        turns = self._scan(tuple(start), turn)._take_while(lambda values, more: more)
        return turns.reduce(tuple(start), lambda values, element: element[0])

    def apply(self, transformation_func: Callable[[Dataset], Any]) -> Dataset:
        """``transformation_func(self)``, which must be a dataset."""
        dataset = transformation_func(self)
        if not isinstance(dataset, Dataset):
            raise TypeError(f"`transformation_func` must return a Dataset. Got {dataset!r}.")
        return dataset

    def options(self) -> Options:
        """The options of this dataset and of those that it is made of."""
        return self._options

    def with_options(self, options: Options) -> Dataset:
        """The same dataset with further options."""
        return Dataset(self._variant_tensor, self._structure, self._options.merge(options))

    # --- iterators ---------------------------------------------------------------------------------------------------

    def make_one_shot_iterator(self) -> Any:
        """An iterator that goes through the dataset once and needs no initialisation. The dataset must not depend on placeholders or variables."""
        if default_graph().imperative:
            return EagerIterator(self)
        try:
            factory = copy_into_function(self._variant_tensor, f"make_dataset_{next(_names)}")
        except ValueError as error:
            if "Cannot capture a" not in str(error):
                raise
            raise ValueError(f"{error}: A likely cause of this error is that the dataset for which you are calling `make_one_shot_iterator()` "
                             "captures a placeholder or a stateful object, such as a `tf.Variable` or `tf.lookup.StaticHashTable`, which is not "
                             "supported. Use `make_initializable_iterator()` instead.") from None
        resource = OneShotIterator(dataset_factory=factory, **structure.output_attrs(self._structure))
        return Iterator(resource, None, specs=self._structure)

    def make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        """An iterator that its ``initializer`` starts, as often as wanted: at its beginning, with the values that are then fed."""
        if default_graph().imperative:
            raise RuntimeError("dataset.make_initializable_iterator is not supported when eager execution is enabled. Use `for` loops instead.")
        if self._variant_tensor.op.graph is not default_graph() and not default_graph().can_capture(self._variant_tensor.op.graph):
            raise ValueError("The dataset was made in another graph than the default graph; make the iterator inside "
                             "`with dataset_graph.as_default():`")
        attrs = structure.output_attrs(self._structure)
        variant = self._with_options_applied(attrs)
        with colocate_with(self._variant_tensor):
            resource = IteratorV2(container="", shared_name=shared_name or "", **attrs)
        with colocate_with(resource):
            initializer = MakeIterator(variant, resource)
        return Iterator(resource, initializer, specs=self._structure)

    def _with_options_applied(self, attrs: dict[str, Any]) -> Tensor:
        """The dataset behind the nodes that TensorFlow adds by its options. They change no element, but seeds that are not given follow from how many
        nodes a graph has."""
        variant, optimization = self._variant_tensor, self._options.experimental_optimization
        if optimization.apply_default_optimizations is not False:
            names = to_tensor(_DEFAULT_OPTIMIZATIONS, name="optimizations")
            variant = dataset_order.OptimizeDataset(variant, names, **attrs)
        return variant if optimization.autotune is False else dataset_order.ModelDataset(variant, **attrs)


# --- helpers ---------------------------------------------------------------------------------------------------------

def _readable(legacy: Any) -> str:
    """Types or shapes of elements, without marks around their names."""
    return str(element_nest.map_structure(lambda part: repr(part) if isinstance(part, dt.DType) else str(part), legacy)).replace("'", "")


def dataset_structure(traced: ElementFunction, method: str) -> Any:
    """The structure of the elements of the dataset that a function returns."""
    if not isinstance(traced.output, structure.DatasetSpec):
        raise TypeError(f"`map_func` passed to {method}() must return a `Dataset` object, not {traced.output}.")
    return traced.output.structure


def batch_length(size: Tensor, drop_remainder: Tensor) -> int | None:
    """The extent of a batch, where it is the same for all."""
    length, drop = constant_value(size), constant_value(drop_remainder)
    return int(length) if length is not None and drop is not None and bool(drop) else None


def trace_with_state(function: Callable[..., Any], user: str, state: Any, element: Any, new_state_of: Callable[[Any], Any]) -> Any:
    """Traces a function of a state and an element; where the shapes of the old and the new state differ, the shape is relaxed."""
    while True:
        traced: Any = ElementFunction(function, user, state, element)
        new_state = new_state_of(traced.output)
        element_nest.assert_same_structure(state, new_state)
        for mine, theirs in zip(element_nest.flatten(state), element_nest.flatten(new_state)):
            if mine.dtype is not theirs.dtype:
                raise TypeError(f"The element types for the new state must match the initial state. Expected {mine.dtype}; got {theirs.dtype}.")
        common = element_nest.map_structure(lambda mine, theirs: mine.common(theirs), state, new_state)
        if common == state:
            traced.state = state
            return traced
        state = common


def get_output_types(dataset_or_iterator: Any) -> Any:
    """``tf.data.get_output_types``: the types of an element."""
    return dataset_or_iterator.output_types


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """``tf.data.get_output_shapes``: the shapes of an element."""
    return dataset_or_iterator.output_shapes


def get_output_classes(dataset_or_iterator: Any) -> Any:
    """``tf.data.get_output_classes``: the classes of an element."""
    return dataset_or_iterator.output_classes


def make_one_shot_iterator(dataset: Dataset) -> Iterator:
    """``tf.data.make_one_shot_iterator``."""
    return dataset.make_one_shot_iterator()


def make_initializable_iterator(dataset: Dataset, shared_name: str | None = None) -> Iterator:
    """``tf.data.make_initializable_iterator``."""
    return dataset.make_initializable_iterator(shared_name)
