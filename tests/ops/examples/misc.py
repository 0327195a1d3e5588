"""Ordering, checks, printing, Python functions, queues."""
import numpy as np

from penstock.graph import dtypes
from penstock.graph.graph import Graph
from penstock.graph.opdef import REGISTRY
from penstock.graph.scopes import control_dependencies
from penstock.ops.constant import constant, identity
from penstock.ops.flow.py_func import py_func
from penstock.ops.summary_writers import SummaryWriter
from support.examples import example, normal, strings

example("NoOp")
example("Assert", np.bool_(True), [normal(2), strings("shown if it fails")], grad=False)
example("Print", normal(2, 3), [normal(2)], grad_inputs=(0,))
example("StringFormat", [normal(2), strings("a", "b")], template="x = %s, y = %s", grad=False)
example("PrintV2", np.array(b"", object), end="")
example("Timestamp", exact=False)

GRAPH = Graph()  # keeps the function alive
with GRAPH.as_default():
    TOKEN = py_func(lambda x: 2 * x, [constant(1.0, dtypes.float64)], dtypes.float64).op.attrs["token"]
example("PyFunc", [normal(2, 3)], token=TOKEN, Tout=["float64"], dynamic=True, grad=False, types=())
example("PyFuncStateless", [normal(2, 3)], token=TOKEN, Tout=["float64"], dynamic=True, grad=False, types=())

TYPES = {"component_types": ["float64", "int32"]}
ELEMENT = [normal(2), np.int32(7)]
BATCH = [normal(3, 2), np.arange(3, dtype=np.int32)]


def empty(definition, enqueue):
    """A function that builds the handle of a queue."""
    def build():
        return definition(shapes=[[2], []], capacity=50, **TYPES)
    return build


def filled(definition, enqueue):
    """A function that builds the handle of a queue into which each step puts a batch first."""
    def build():
        handle = empty(definition, enqueue)()
        with control_dependencies([enqueue(handle, BATCH)]):
            return identity(handle) if definition.type == "FIFOQueueV2" else handle
    return build


V1 = (REGISTRY["FIFOQueue"], REGISTRY["QueueEnqueueMany"])
V2 = (REGISTRY["FIFOQueueV2"], REGISTRY["QueueEnqueueManyV2"])
for suffix, form in (("", V1), ("V2", V2)):
    runs = form is V2  # a reference cannot be passed on by an Identity, which the filled queue needs
    example(f"FIFOQueue{suffix}", shapes=[[2], []], run=False, **TYPES)
    example(f"QueueEnqueue{suffix}", empty(*form), ELEMENT, types=(), grad=False)
    example(f"QueueEnqueueMany{suffix}", empty(*form), BATCH, types=(), grad=False)
    example(f"QueueDequeue{suffix}", filled(*form), run=runs, dynamic=True, exact=False, types=(), **TYPES)
    example(f"QueueDequeueMany{suffix}", filled(*form), np.int32(2), run=runs, dynamic=True, exact=False, types=(), **TYPES)
    example(f"QueueDequeueUpTo{suffix}", filled(*form), np.int32(2), run=runs, dynamic=True, exact=False, types=(), **TYPES)
    example(f"QueueSize{suffix}", empty(*form), exact=False)
    example(f"QueueIsClosed{suffix}", empty(*form))
    example(f"QueueClose{suffix}", empty(*form), run=False)

# summaries that ops write themselves


def _writer():
    return SummaryWriter()


def _text(value):
    return np.array(value.encode(), object)


def _whole(value):
    return np.array(value, np.int32)


example("SummaryWriter", run=False)
example("CreateSummaryFileWriter", _writer, _text("folder"), _whole(1), _whole(1), _text(""), run=False)
example("FlushSummaryWriter", _writer, run=False)
example("CloseSummaryWriter", _writer, run=False)
example("WriteScalarSummary", _writer, np.array(1), _text("tag"), np.array(2.5), run=False)
example("WriteHistogramSummary", _writer, np.array(1), _text("tag"), normal(3), run=False)
example("WriteImageSummary", _writer, np.array(1), _text("tag"), np.ones((1, 2, 2, 1), np.float32), np.zeros(4, np.uint8), run=False)
example("WriteAudioSummary", _writer, np.array(1), _text("tag"), np.ones((1, 4), np.float32), np.array(10.0, np.float32), run=False)
example("WriteSummary", _writer, np.array(1), normal(3), _text("tag"), _text(""), run=False)
example("WriteGraphSummary", _writer, np.array(1), _text(""), run=False)
example("ImportEvent", _writer, _text(""), run=False)
