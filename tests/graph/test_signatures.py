"""Our signatures are TensorFlow's: inputs, outputs, attributes, kinds, defaults, allowed types (quantized types left out).

The reference is ``data/opdefs.txt.gz``, written under real TensorFlow 1.15 by ``data/record_opdefs.py``.
"""
from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock.ops  # noqa: F401 (fills the registry)
from penstock.graph.attrs import REQUIRED
from penstock.graph.dtypes import QUANTIZED_DTYPES, DType
from penstock.graph.opdef import REGISTRY, OpDef
from penstock.graph.shape import TensorShape
from penstock.graph.signature import Argument

DATA = Path(__file__).parent / "data" / "opdefs.txt.gz"

# Ops that TensorFlow 1.15 does not have, or does not show to Python, each with its reason.
OURS = {
    "BipartiteMatch": "of tf.contrib.image's own library",
    "ImageConnectedComponents": "of tf.contrib.image's own library",
    "_BoundedNonMaxSuppression": "exported models: the boxes, padded, and how many they are",
    "_BoundedWhere": "exported models: the positions, padded, and how many they are",
    "_CountedShape": "exported models: the shape of a tensor of which some rows count",
    "_CountedSize": "exported models: the size of a tensor of which some rows count",
    "_CallFunction": "a traced function, called by one node",
    "_CallNamed": "a function of the library, called by a node whose type is its name",
    "_Arg": "the runtime's own: where a fed value enters a step",
    "_Refuse": "the compiler's own: ends a step of native code whose op has to say what is wrong",
    "_Region": "the compiler's own: nodes that run together as native code",
    "_Generator": "the compiler's own: the state of a random op, so that native code can draw from it",
    "_DrawUniform": "the compiler's own: a draw from such a state",
    "_DrawUniformInt": "the same, of integers",
    "_DivideIntegers": "the compiler's own: a division of integers whose divisors have been checked",
    "_DrawNormal": "the same, of the normal distribution",
    "_DrawTruncated": "the same, of the truncated normal distribution",
    "_LookupIds": "the passes' own: the ids of a lookup in arrays whose sizes stay",
    "_LookupRows": "the passes' own: the rows of such ids, combined",
    "_LookupGrad": "the passes' own: the gradient of that",
    "_SumDuplicates": "the passes' own: rows with equal indices added up, in arrays whose sizes stay",
    **{op_type: "the passes' own: a sparse update that leaves out negative indices" for op_type in REGISTRY if op_type.startswith("_Padded")},
    "_Retval": "the runtime's own: where a fetched value leaves a step",
    "_Send": "the runtime's own: one end of an edge between devices",
    "_Recv": "the runtime's own: the other end",
    "_SendReference": "the runtime's own: one end of an edge that carries a variable",
    "_ResourceName": "the runtime's own: a handle on its way to another task",
    "_NamedResource": "the runtime's own: the end of that way",
    "_HandleNames": "the runtime's own: what is fetched of the handle of an old graph",
    "_VariantBytes": "the runtime's own: a list of tensors on its way to another task",
    "_VariantOfBytes": "the runtime's own: the end of that way",
    "_Token": "the runtime's own: what travels along a control edge between devices",
    "_CopyIn": "the runtime's own: brings a value into the memory of a device",
    "_CopyOut": "the runtime's own: the way back",
    "_AccumulatorNumDropped": "the gradients that came too late; TensorFlow drops them without a word",
    "_ResourceAccumulatorNumDropped": "the same for a resource handle",
    "_CheckTag": "of all-reduce: whether a chunk belongs to this round",
    "_FuncInput": "a parameter of the graph of a function body",
    "_IteratorPlace": "where an iterator stands, as numbers that a checkpoint can hold; TensorFlow stores a variant",
    "_MoveIterator": "the way back from those numbers",
    "_IteratorDataset": "the dataset of an iterator, which SaveIterator of TensorFlow 1.4 kept, as bytes",
    "_RestoreIterator": "the way back from place and dataset",
    "GatherTree": "of TensorFlow, but of tf.contrib.seq2seq, whose ops are not in its core",
    "SparseFeatureCross": "of TensorFlow, but of tf.contrib.layers",
    **dict.fromkeys(("MaskedMatmul", "WALSComputePartialLhsAndRhs"), "of TensorFlow, but of tf.contrib.factorization"),
    **dict.fromkeys("""CreateFertileStatsVariable CreateTreeVariable DecisionTreeResourceHandleOp FeatureUsageCounts FertileStatsDeserialize
        FertileStatsIsInitializedOp FertileStatsResourceHandleOp FertileStatsSerialize FinalizeTree GrowTreeV4 ProcessInputV4 ReinterpretStringToFloat
        TraverseTreeV4 TreeDeserialize TreeIsInitializedOp TreePredictionsV4 TreeSerialize TreeSize UpdateModelV4""".split(),
        "of TensorFlow, but of tf.contrib.tensor_forest"),
    **dict.fromkeys("""CreateTreeEnsembleVariable DecisionTreeEnsembleResourceHandleOp GradientTreesPartitionExamples GradientTreesPrediction
        TreeEnsembleDeserialize TreeEnsembleIsInitializedOp TreeEnsembleSerialize TreeEnsembleStampToken TreeEnsembleStats""".split(),
        "of TensorFlow, but of tf.contrib.boosted_trees"),
    "_LearnGradientTrees": "what TensorFlow does there by a dozen nodes per column",
    "_SerializeGradientTreeLayer": "what such a layer has learned, for checkpoints",
    "_RestoreGradientTreeLayer": "the way back",
    "_InitializedValue": "the value of a variable, or the value it would be initialised with",
    "_ResourceInitializedValue": "the same for a resource variable",
}

OPS = sorted(name for name, definition in REGISTRY.items() if definition.__module__.startswith("penstock."))


def _reference() -> dict[str, Any]:
    with gzip.open(DATA, "rt") as lines:
        return {entry[0]: entry[1:] for entry in map(json.loads, lines)}


REFERENCE = _reference()


@pytest.mark.parametrize("op_type", OPS)
def test_signature(op_type):
    if op_type in OURS:
        assert op_type not in REFERENCE, "TensorFlow has this op: compare it"
        return
    if op_type not in REFERENCE:
        pytest.fail(f"{op_type} is no op of TensorFlow 1.15: list it in OURS with a reason", pytrace=False)
    inputs, outputs, attributes, _ = REFERENCE[op_type]
    definition = REGISTRY[op_type]
    assert [_argument(arg) for arg in definition.inputs] == inputs
    assert [_argument(arg) for arg in definition.outputs] == outputs
    wanted = {name: [kind, default, allowed, _minimum(kind, minimum)] for name, kind, default, allowed, minimum in attributes}
    assert _attributes(definition) == wanted


def _argument(arg: Argument) -> list[str]:
    text = arg.type_attr or arg.type_list_attr or arg.dtype.name  # type: ignore[union-attr]
    text = f"{arg.number_attr} * {text}" if arg.number_attr else text
    return [arg.name, f"Ref({text})" if arg.is_ref else text]


def _attributes(definition: OpDef) -> dict[str, Any]:
    found = {}
    for name, attr in definition.attrs.items():
        default = None if attr.default is REQUIRED else [_plain(attr.default, attr.kind)]
        allowed = None if attr.allowed is None else sorted(d.name if isinstance(d, DType) else d for d in attr.allowed - QUANTIZED_DTYPES)
        found[name] = [attr.kind, default, allowed, _minimum(attr.kind, attr.minimum)]
    return found


def _minimum(kind: str, minimum: int | None) -> int | None:
    return None if kind.startswith("list(") and minimum == 0 else minimum  # every list has at least 0 items


def _plain(value: Any, kind: str) -> Any:
    if kind.startswith("list("):
        return [_plain(item, kind[5:-1]) for item in value]
    if isinstance(value, DType):
        return value.name
    if isinstance(value, TensorShape):
        return None if value.ndims is None else value.as_list()
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, np.ndarray):
        return "tensor"  # the recording does not hold its value
    return float(np.float32(value)) if kind == "float" else value


def test_stateful_ops_are_stateful():
    """An op that TensorFlow never folds is not folded here; a variable's handle is the same each time, so it may be."""
    wrong = [name for name in OPS if name in REFERENCE and "is_stateful" in REFERENCE[name][3] and not REGISTRY[name].stateful]
    assert not wrong, f"stateful in TensorFlow, not here: {wrong}"


def test_commutative_ops_commute():
    wrong = [name for name in OPS if name in REFERENCE and REGISTRY[name].commutative and "is_commutative" not in REFERENCE[name][3]
             and not _takes_two_of_a_kind(REGISTRY[name])]
    assert not wrong, f"commutative here, with inputs that cannot change places: {wrong}"


def _takes_two_of_a_kind(definition: OpDef) -> bool:
    return len({(arg.type_attr, arg.dtype) for arg in definition.inputs}) == 1 and len(definition.inputs) == 2
