"""Examples of the dataset, iterator and optional ops. That datasets have the right elements is what ``tests/data`` and the golden cases check."""
from __future__ import annotations

import atexit
import tempfile
from pathlib import Path

import numpy as np

from penstock.data.dataset import Dataset
from penstock.data.structure import TensorSpec
from penstock.data.traced_function import ElementFunction
from penstock.graph import dtypes as dt
from penstock.graph.graph import Graph
from penstock.graph.opdef import REGISTRY
from penstock.graph.shape import TensorShape
from penstock.ops.constant import constant
from penstock.platform.records import frame
from support.examples import example, ints, normal, strings

_holder = tempfile.TemporaryDirectory(prefix="penstock-examples-")
atexit.register(_holder.cleanup)
FOLDER = Path(_holder.name)
(FOLDER / "lines.txt").write_text("a\nb\n")
(FOLDER / "rows.sqlite").touch()
(FOLDER / "records").write_bytes(frame(b"one") + frame(b"two"))
NUMBERS = {"output_types": [dt.int64], "output_shapes": [[]]}
VECTORS = {"output_types": [dt.int64], "output_shapes": [[None]]}


def numbers():
    """A dataset of 0, 1, 2, 3 as an input."""
    return Dataset.range(4)._variant_tensor


def batches():
    """A dataset of two vectors."""
    return Dataset.range(4).batch(2)._variant_tensor


def traced(name, function, *arguments):
    """The graph of a function as an attribute."""
    with Graph().as_default():
        return ElementFunction(function, name, *arguments).graph


number, flag = np.int64, np.bool_


def text(value):
    """A string scalar."""
    return np.array(value, object)


NUMBER = TensorSpec(dt.int64, TensorShape(()))
double = traced("double", lambda x: x * 2, NUMBER)
positive = traced("positive", lambda x: x > 0, NUMBER)
several = traced("several", Dataset.range, NUMBER)
total = traced("total", lambda state, x: state + x, NUMBER, NUMBER)
nothing = traced("nothing", lambda: constant(0, dt.int64))
dataset = traced("dataset", lambda: Dataset.range(3))


# --- sources ---------------------------------------------------------------------------------------------------------

example("TensorDataset", [normal(2), ints(1, 2)], output_shapes=[[2], [2]], grad=False, types=())
example("TensorSliceDataset", [normal(2), ints(1, 2)], output_shapes=[[], []], grad=False, types=())
example("SparseTensorSliceDataset", ints(0, 1, dtype=np.int64).reshape(2, 1), normal(2), ints(3, dtype=np.int64), grad=False)
example("RangeDataset", number(0), number(4), number(1), **NUMBERS)
example("RandomDataset", number(3), number(4), **NUMBERS)
example("GeneratorDataset", [], [], [], init_func=nothing, next_func=double, finalize_func=double, **NUMBERS)
for op_type in ("LMDBDataset", "ExperimentalLMDBDataset"):
    example(op_type, strings(str(FOLDER / "data.mdb")), output_types=[dt.string, dt.string], output_shapes=[[], []], run=False)
example("SqlDataset", text(b"sqlite"), text(str(FOLDER / "rows.sqlite").encode()), text(b"SELECT 1"), **NUMBERS)
example("TextLineDataset", strings(str(FOLDER / "lines.txt")), text(b""), number(0))
example("TFRecordDataset", strings(str(FOLDER / "records")), text(b""), number(0))
example("FixedLengthRecordDataset", strings(str(FOLDER / "lines.txt")), number(0), number(2), number(0), number(0))
example("FixedLengthRecordDatasetV2", strings(str(FOLDER / "lines.txt")), number(0), number(2), number(0), number(0), text(b""))

example("DatasetToTFRecord", lambda: Dataset.from_tensors("a")._variant_tensor, text(str(FOLDER / "written").encode()), text(b""))

# --- transformations without functions -------------------------------------------------------------------------------

for op_type, *more in (("RepeatDataset", number(2)), ("TakeDataset", number(2)), ("SkipDataset", number(2)), ("PrefetchDataset", number(2)),
                       ("ShardDataset", number(2), number(1)), ("ShuffleDataset", number(2), number(3), number(4)),
                       ("ShuffleAndRepeatDataset", number(2), number(3), number(4), number(2)), ("IgnoreErrorsDataset",), ("UniqueDataset",),
                       ("ModelDataset",), ("NonSerializableDataset",), ("MaxIntraOpParallelismDataset", number(2)),
                       ("PrivateThreadPoolDataset", number(2)), ("OptimizeDataset", strings("map_fusion")), ("CacheDataset", text(b""))):
    example(op_type, numbers, *more, **NUMBERS)
example("AnonymousRandomSeedGenerator", number(3), number(4), exact=False)
example("ShuffleDatasetV2", numbers, number(2), lambda: REGISTRY["AnonymousRandomSeedGenerator"](number(3), number(4))[0], **NUMBERS)
example("ConcatenateDataset", numbers, numbers, **NUMBERS)
example("ZipDataset", [numbers, numbers], output_types=[dt.int64, dt.int64], output_shapes=[[], []])
example("DirectedInterleaveDataset", numbers, [numbers, numbers], **NUMBERS)
example("BatchDataset", numbers, number(2), **VECTORS)
example("DenseToSparseBatchDataset", batches, number(2), ints(-1, dtype=np.int64), output_types=[dt.variant], output_shapes=[None])
example("BatchDatasetV2", numbers, number(2), flag(True), **VECTORS)
example("PaddedBatchDataset", batches, number(2), [ints(-1, dtype=np.int64)], [number(0)], output_shapes=[[None, None]], types=())
example("PaddedBatchDatasetV2", batches, number(2), [ints(-1, dtype=np.int64)], [number(0)], flag(False), output_shapes=[[None, None]], types=())
example("UnbatchDataset", batches, **NUMBERS)
example("WindowDataset", numbers, number(2), number(1), number(1), flag(False), output_types=[dt.variant], output_shapes=[[]])

# --- with functions --------------------------------------------------------------------------------------------------

example("MapDataset", numbers, [], f=double, **NUMBERS)
example("ParallelMapDataset", numbers, [], np.int32(2), f=double, **NUMBERS)
example("MapAndBatchDataset", numbers, [], number(2), number(2), flag(False), f=double, **VECTORS)
example("FilterDataset", numbers, [], predicate=positive, **NUMBERS)
example("TakeWhileDataset", numbers, [], predicate=positive, **NUMBERS)
example("FlatMapDataset", numbers, [], f=several, **NUMBERS)
example("InterleaveDataset", numbers, [], number(2), number(1), f=several, **NUMBERS)
example("ParallelInterleaveDatasetV2", numbers, [], number(2), number(1), number(2), f=several, **NUMBERS)
example("ParallelInterleaveDataset", numbers, [], number(2), number(1), flag(False), number(1), number(1), f=several, **NUMBERS)
example("ScanDataset", numbers, [number(0)], [], f=total, **NUMBERS)
example("ReduceDataset", numbers, [number(0)], [], f=total, **NUMBERS)
example("GroupByWindowDataset", numbers, [], [], [], key_func=double, reduce_func=several, window_size_func=double, **NUMBERS)
example("GroupByReducerDataset", numbers, [], [], [], [], key_func=double, init_func=double, reduce_func=total, finalize_func=double, **NUMBERS)
example("DatasetCardinality", lambda: Dataset.range(3)._variant_tensor)
example("ExperimentalDatasetCardinality", lambda: Dataset.range(3)._variant_tensor)
example("DatasetToSingleElement", lambda: Dataset.range(1)._variant_tensor, **NUMBERS)

# --- iterators -------------------------------------------------------------------------------------------------------

def iterator():
    """A one-shot iterator."""
    return Dataset.range(4).make_one_shot_iterator()._iterator_resource


def resource():
    """An iterator that is not started."""
    return REGISTRY["IteratorV2"](shared_name="", container="", name="iterator", **NUMBERS)


def handle():
    """The string of an iterator."""
    return REGISTRY["IteratorToStringHandle"](resource())


for op_type in ("Iterator", "IteratorV2"):
    example(op_type, shared_name="", container="", **NUMBERS)
example("OneShotIterator", dataset_factory=dataset, **NUMBERS)
example("MakeIterator", numbers, resource)
for op_type in ("IteratorGetNext", "IteratorGetNextSync", "IteratorGetNextAsOptional"):
    example(op_type, iterator, **NUMBERS)
example("IteratorToStringHandle", resource, exact=False)
for op_type in ("IteratorFromStringHandle", "IteratorFromStringHandleV2"):
    example(op_type, handle, **NUMBERS)
example("SerializeIterator", iterator, dynamic=True)
example("DeserializeIterator", iterator, lambda: REGISTRY["SerializeIterator"](iterator()))
example("IteratorGetDevice", resource)
example("_IteratorPlace", iterator, dynamic=True)
example("_MoveIterator", iterator, np.array([2]))
example("_IteratorDataset", iterator)
example("_RestoreIterator", iterator, np.array([2]), b"")

# --- optionals -------------------------------------------------------------------------------------------------------

def some():
    """An optional that holds 3."""
    return REGISTRY["OptionalFromValue"]([constant(3, dt.int64)])


example("OptionalFromValue", [normal(2), ints(1)], grad=False, types=())
example("OptionalNone")
example("OptionalHasValue", some)
example("OptionalGetValue", some, **NUMBERS)
