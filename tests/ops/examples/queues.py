"""Examples of queues, readers, barriers, accumulators, tables, staging areas, stacks and mutexes.

An input that is a handle is a function that makes the resource and brings it into the state that the op needs: with a control edge on a creating
node's Identity for resources. References of old graphs cannot pass an Identity: their ops are run where an empty resource is enough, else built.
"""
import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph.opdef import REGISTRY
from penstock.graph.scopes import control_dependencies
from penstock.ops.constant import constant, identity
from support.examples import example, ints, normal, strings

ONE = {"component_types": [dt.float64]}
_numbers = iter(range(10**6))


def ready(create, prepare, **attrs):
    """A function that makes a resource of its own per call of an example, and prepares it: ``prepare(handle)`` gives ops to wait for."""
    def make():
        handle = REGISTRY[create](shared_name=f"example{next(_numbers)}", **attrs)
        waited = prepare(handle)
        with control_dependencies([waited]):
            return identity(handle)
    return make




def fresh(create, *inputs, **attrs):
    """A function that makes an empty resource."""
    return lambda: REGISTRY[create](*inputs, shared_name=f"example{next(_numbers)}", **attrs)


# --- queues: the ops on them are in misc.py ---------------------------------------------------------------------------

for suffix in ("", "V2"):
    example(f"PaddingFIFOQueue{suffix}", shapes=[[None]], run=False, **ONE)
    example(f"RandomShuffleQueue{suffix}", shapes=[[2]], min_after_dequeue=1, capacity=5, run=False, **ONE)
    example(f"PriorityQueue{suffix}", shapes=[[2]], run=False, **ONE)


# --- readers ---------------------------------------------------------------------------------------------------------

def works(create="FIFOQueueV2", enqueue="QueueEnqueueManyV2"):
    """A queue with names of work units."""
    return ready(create, lambda handle: REGISTRY[enqueue](handle, [constant(["unit1", "unit2"])]), component_types=[dt.string], shapes=[[]])


for suffix in ("", "V2"):
    for name, attrs in (("IdentityReader", {}), ("WholeFileReader", {}), ("TextLineReader", {"skip_header_lines": 1}),
                        ("TFRecordReader", {"compression_type": "GZIP"}), ("FixedLengthRecordReader", {"record_bytes": 4})):
        example(name + suffix, run=False, **attrs)
    reader = fresh("IdentityReader" + suffix)
    example("ReaderNumRecordsProduced" + suffix, reader)
    example("ReaderNumWorkUnitsCompleted" + suffix, reader)
    example("ReaderSerializeState" + suffix, reader)
    example("ReaderRestoreState" + suffix, reader, np.array(b"\x08\x01\x10\x01\x18\x01", object))
    example("ReaderReset" + suffix, reader)
example("LMDBReader", run=False)
example("FakeQueue", fresh("FIFOQueueV2", component_types=[dt.string]), run=False)
example("ReaderReadV2", fresh("IdentityReaderV2"), works())
example("ReaderReadUpToV2", fresh("IdentityReaderV2"), works(), np.array(1, np.int64), dynamic=True)
example("ReaderRead", fresh("IdentityReader"), fresh("FIFOQueue", component_types=[dt.string]), run=False)
example("ReaderReadUpTo", fresh("IdentityReader"), fresh("FIFOQueue", component_types=[dt.string]), np.array(1, np.int64), run=False)


# --- barriers --------------------------------------------------------------------------------------------------------

barrier = fresh("Barrier", component_types=[dt.float64], shapes=[[2]])
example("Barrier", shapes=[[2]], run=False, **ONE)
example("BarrierInsertMany", barrier, strings("a", "b"), normal(2, 2), component_index=0, types=())
example("BarrierTakeMany", barrier, np.array(0, np.int32), **ONE)
example("BarrierClose", barrier)
example("BarrierReadySize", barrier)
example("BarrierIncompleteSize", barrier)


# --- tags ------------------------------------------------------------------------------------------------------------

example("_CheckTag", normal(3), ints(1, 2, dtype=np.int64), ints(1, 2, dtype=np.int64))


# --- accumulators ----------------------------------------------------------------------------------------------------

STEP = np.array(0, np.int64)


def full(handle):
    return REGISTRY["ResourceAccumulatorApplyGradient"](handle, constant(0, dt.int64), constant(np.ones(2)))


for prefix in ("", "Resource"):
    dense = fresh(prefix + "ConditionalAccumulator", dtype=dt.float64, shape=[2])
    example(prefix + "ConditionalAccumulator", dtype=dt.float64, shape=[2], run=False)
    example(prefix + "AccumulatorApplyGradient", dense, STEP, normal(2), types=())
    example(prefix + "AccumulatorNumAccumulated", dense)
    example(f"_{prefix}AccumulatorNumDropped", dense)
    example(prefix + "AccumulatorSetGlobalStep", dense, STEP)
example("ResourceAccumulatorTakeGradient", ready("ResourceConditionalAccumulator", full, dtype=dt.float64, shape=[2]), np.array(1, np.int32),
        dtype=dt.float64, dynamic=True)
example("AccumulatorTakeGradient", fresh("ConditionalAccumulator", dtype=dt.float64, shape=[2]), np.array(1, np.int32), dtype=dt.float64, run=False)
sparse = fresh("SparseConditionalAccumulator", dtype=dt.float64, shape=[4, 2])
example("SparseConditionalAccumulator", dtype=dt.float64, shape=[4, 2], run=False)
example("SparseAccumulatorApplyGradient", sparse, STEP, ints(1, 3, dtype=np.int64), normal(2, 2), ints(4, 2, dtype=np.int64), has_known_shape=True,
        types=())
example("SparseAccumulatorTakeGradient", sparse, np.array(1, np.int32), dtype=dt.float64, run=False)


# --- tables ----------------------------------------------------------------------------------------------------------

KEYS, VALUES = strings("a", "b"), ints(1, 2, dtype=np.int64)
TABLE = {"key_dtype": dt.string, "value_dtype": dt.int64}
for suffix in ("", "V2"):
    table = fresh("MutableHashTable" + suffix, **TABLE)
    example("HashTable" + suffix, run=False, **TABLE)
    example("MutableHashTable" + suffix, run=False, **TABLE)
    example("MutableHashTableOfTensors" + suffix, run=False, value_shape=[2], **TABLE)
    example("LookupTableFind" + suffix, table, strings("a", "z"), np.array(-1, np.int64), types=(), grad=False)
    example("LookupTableInsert" + suffix, table, KEYS, VALUES, types=(), grad=False)
    example("LookupTableImport" + suffix, table, KEYS, VALUES, types=(), grad=False)
    example("LookupTableExport" + suffix, table, Tkeys=dt.string, Tvalues=dt.int64, dynamic=True)
    example("LookupTableSize" + suffix, table)
    static = fresh("HashTable" + suffix, **TABLE)
    example("InitializeTable" + suffix, static, KEYS, VALUES, types=(), grad=False)
    example("InitializeTableFromTextFile" + suffix, static, np.array(b"vocabulary.txt", object), key_index=-2, value_index=-1, run=False)
example("LookupTableRemoveV2", fresh("MutableHashTableV2", **TABLE), KEYS, types=(), grad=False)
with_entries = ready("MutableHashTableV2", lambda handle: REGISTRY["LookupTableInsertV2"](handle, constant(KEYS), constant(VALUES)), **TABLE)
example("LookupTableFindV2", with_entries, strings("a", "z"), np.array(-1, np.int64), types=(), grad=False, dynamic=True)
example("MutableDenseHashTable", np.array(0, np.int64), value_dtype=dt.float64, value_shape=[2], run=False)
example("MutableDenseHashTableV2", np.array(0, np.int64), np.array(-1, np.int64), value_dtype=dt.float64, value_shape=[2], run=False)


# --- staging areas: without handles ----------------------------------------------------------------------------------

TWO = {"dtypes": [dt.float64, dt.int32]}
AREA = {"shared_name": "area", **TWO}
example("Stage", [normal(2), ints(3)], shared_name="area", types=(), grad=False)
example("StageSize", **AREA)
example("StageClear", **AREA)
example("Unstage", run=False, **AREA)
example("StagePeek", np.array(0, np.int32), run=False, **AREA)
for prefix in ("Map", "OrderedMap"):
    example(prefix + "Stage", np.array(7, np.int64), ints(0), [normal(2)], shared_name=prefix, types=(), grad=False, run=False, **TWO)
    example(prefix + "Size", shared_name=prefix, **TWO)
    example(prefix + "IncompleteSize", shared_name=prefix, **TWO)
    example(prefix + "Clear", shared_name=prefix, **TWO)
    for name in ("Unstage", "Peek"):
        example(prefix + name, np.array(7, np.int64), ints(0, 1), run=False, shared_name=prefix, **TWO)
    example(prefix + "UnstageNoKey", ints(0, 1), run=False, shared_name=prefix, **TWO)


# --- stacks and mutexes ----------------------------------------------------------------------------------------------

def pushed():
    handle = REGISTRY["StackV2"](constant(2), elem_type=dt.float64)
    with control_dependencies([REGISTRY["StackPushV2"](handle, constant(np.ones(3)))]):
        return identity(handle)


stacks = {"": lambda: REGISTRY["Stack"](elem_type=dt.float64), "V2": lambda: REGISTRY["StackV2"](constant(2), elem_type=dt.float64)}
example("Stack", elem_type=dt.float64, run=False)
example("StackV2", np.array(2, np.int32), elem_type=dt.float64)
for suffix, stack in stacks.items():
    example("StackPush" + suffix, stack, normal(3), types=(), grad=False)
    example("StackClose" + suffix, stack)
example("StackPopV2", pushed, elem_type=dt.float64, dynamic=True)
example("StackPop", stacks[""], elem_type=dt.float64, run=False)


def locked():
    return REGISTRY["MutexLock"](REGISTRY["MutexV2"](shared_name=f"mutex{next(_numbers)}"))


example("MutexV2")
example("MutexLock", fresh("MutexV2"), run=False)  # the lock would not be given back
example("ConsumeMutexLock", locked)


def kept_handle():
    return REGISTRY["GetSessionHandle"](constant(np.ones(3)))


example("GetSessionHandle", normal(3), types=(), exact=False)
example("GetSessionTensor", kept_handle, dtype=dt.float64, dynamic=True)
example("DeleteSessionTensor", kept_handle)
