"""Public functions, constructors and methods take TensorFlow's arguments, in its order and with its defaults; further ones come behind.

The reference is ``data/signatures.txt.gz``, written under real TensorFlow 1.15 by ``data/record_signatures.py``.
"""
from __future__ import annotations

import enum
import gzip
import inspect
import json
import runpy
from pathlib import Path
from typing import Any

import pytest

import penstock as tf
from penstock.api.explained import REASONS

pytestmark = pytest.mark.graph

# What may differ, each with its reason.
OURS = {
    "tf.RaggedTensor": "its constructor is private: it says so",
    "tf.DType": "types are there; programs do not make any", "tf.dtypes.DType": "the same",
    "tf.Operation": "made by the graph", "tf.Tensor": "made by an operation", "tf.data.Dataset": "made by its class methods",
    "tf.data.experimental.make_batched_features_dataset": "its reader is a class of another name",
    "tf.contrib.data.make_batched_features_dataset": "the same",
    "tf.contrib.data.read_batch_features": "the same",
    "tf.estimator.Head.update_metrics": "refused; the kinds of heads take no mode there",
    "tf.keras.metrics.Metric": "its constructor is found by way of __new__",
    "tf.keras.layers.CuDNNGRU.get_losses_for": "has a default there, as nowhere else", "tf.keras.layers.CuDNNLSTM.get_losses_for": "the same",
    **{f"tf.linalg.LinearOperatorCirculant{kind}": "None instead of a name that means the same" for kind in ("", "2D", "3D")},
    "tf.profiler.profile": "None instead of a default that means the same", "tf.profiler.advise": "the same",
    "tf.estimator.BestExporter": "the function that is its default has a public name",
    "tf.raw_ops.SdcaOptimizer": "TensorFlow's function has another default than its operation", "tf.raw_ops.SdcaOptimizerV2": "the same",
    "tf.raw_ops.ImageSummary": "a colour as an array instead of a proto",
    "tf.sparse_split": "None instead of an object that may not be given", "tf.sparse.split": "the same",
    **dict.fromkeys([f"tf.contrib.learn.{name}.export" for name in (
        "DNNClassifier", "DNNEstimator", "DNNLinearCombinedClassifier", "DNNLinearCombinedEstimator", "DNNLinearCombinedRegressor",
        "DNNRegressor", "DynamicRnnEstimator", "Estimator", "KMeansClustering", "LinearClassifier", "LinearEstimator", "LinearRegressor", "SVM")],
        "refused, whatever its arguments"),
    **{f"tf.contrib.tpu.{name}": "refused, whatever its arguments" for name in REASONS if hasattr(tf.contrib.tpu, name)},
    "tf.contrib.summary.create_db_writer": "refused, whatever its arguments",
    "tf.contrib.factorization.WALSMatrixFactorization.export": "refused, whatever its arguments",
    "tf.contrib.factorization.GMM.export": "refused, whatever its arguments",
    **dict.fromkeys(["tf.contrib.checkpoint.List.index", *(f"tf.contrib.checkpoint.Mapping.{name}" for name in ("items", "keys", "values"))],
                    "that of Python's own list or dict"),
    "tf.contrib.opt.GGTOptimizer.compute_gradients": "that of tf.train.Optimizer: TensorFlow's is of another base, OptimizerV2",
    "tf.contrib.opt.GGTOptimizer.minimize": "the same",
}


def public(name: str) -> Any:
    """The object with this name; None if Penstock has none."""
    found: Any = tf
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    return found


DATA = Path(__file__).parent / "data"
default = runpy.run_path(str(DATA / "record_signatures.py"))["default"]  # a default as the recorder writes it
with gzip.open(DATA / "signatures.txt.gz", "rt") as lines:
    REFERENCE = {name: arguments for name, arguments in map(json.loads, lines)
                 if public(name) is not None and not isinstance(public(name), enum.EnumMeta)}  # how an enum is called is Python's affair


def arguments(function: Any) -> list[list[str]]:
    """[[argument, default], ...], as recorded."""
    found = [parameter for parameter in inspect.signature(function).parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
    if found and found[0].name == "self":  # a method, of its class
        found = found[1:]
    return [[each.name] if each.default is each.empty else [each.name, default(each.default)] for each in found]


def _equal(mine: list[str], theirs: list[str]) -> bool:
    """What TensorFlow requires may be optional; 1 is 1.0."""
    return mine == theirs or len(theirs) == 1 or (len(mine) > 1 and mine[1].replace(".0]", "]") in (theirs[1], theirs[1] + ".0"))


def test_most_of_them_are_there():
    assert len(REFERENCE) > 1500 and OURS.keys() <= REFERENCE.keys()


@pytest.mark.parametrize("name", sorted(REFERENCE.keys() - OURS.keys()))
def test_arguments(name):
    wanted, found = REFERENCE[name], arguments(public(name))
    assert [each[0] for each in found[:len(wanted)]] == [each[0] for each in wanted]
    assert [(mine, theirs) for mine, theirs in zip(found, wanted) if not _equal(mine, theirs)] == []
    assert all(len(each) > 1 for each in found[len(wanted):])
