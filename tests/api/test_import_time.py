"""``import penstock`` imports nothing heavy, and every operation is there when it is asked for."""
from __future__ import annotations

import pytest

from support.process import python

HEAVY = ("scipy", "PIL", "grpc", "tqdm", "llvmlite", "absl", "asyncio", "unittest", "xml", "http", "ssl", "multiprocessing", "werkzeug",
         "tensorboard.data", "tensorboard.plugins", "tensorboard.backend", "tensorboard.program",
         "tensorboard.compat.tensorflow_stub", "tensorflow")


def modules_after(statements: str) -> set[str]:
    return set(python(f"{statements}\nimport sys\nprint(*sys.modules)").stdout.split())


def test_nothing_heavy_is_imported():
    assert modules_after("import penstock").isdisjoint(HEAVY)


def test_building_a_graph_imports_nothing_heavy():
    assert modules_after("import penstock as tf\ntf.nn.relu(tf.constant([1.0]) + 2.0)").isdisjoint(HEAVY)


def test_import_loads_few_operations():
    names = modules_after("import penstock")
    assert not [name for name in names if name.startswith(("penstock.ops.data.", "penstock.ops.image.", "penstock.ops.queues.", "penstock.ops.nn."))]


@pytest.mark.parametrize("statement", [
    "tf.raw_ops.DecodeJpeg",
    "tf.Graph().create_op('FIFOQueueV2', [], [tf.resource], attrs={'component_types': [tf.float32]})",
    "tf.import_graph_def(tf.GraphDef(node=[tf.NodeDef(name='q', op='WholeFileReaderV2')]))",
    "tf.SparseTensor([[0]], [1.0], [2]) * tf.constant([2.0, 3.0])",
    "tf.constant([1.0, 2.0])[tf.newaxis, :1] + [tf.constant(2.0)]"])
def test_operations_that_nothing_has_loaded_yet(statement):
    python(f"import penstock as tf\n{statement}")


def test_an_op_of_ones_own_cannot_take_the_name_of_one_that_is_not_loaded_yet():
    program = "from penstock import op\ntry:\n    op('DecodeJpeg', 'x: float32 ->')\nexcept ValueError as error:\n    print(error)"
    assert "registered already, in penstock.ops.image" in python(program).stdout


def test_every_operation_is_registered():
    program = ("import importlib, pkgutil, penstock.ops\n"
               "from penstock.graph.opdef import REGISTRY\n"
               "before = set(REGISTRY)\n"
               "for info in pkgutil.iter_modules(penstock.ops.__path__, 'penstock.ops.'):\n"
               "    importlib.import_module(info.name)\n"
               "print(sorted(set(REGISTRY) - before))")
    assert python(program).stdout.strip() == "[]", "operations that penstock.ops/__init__.py does not import"
