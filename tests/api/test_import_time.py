"""``import penstock`` registers every operation and imports nothing heavy."""
from __future__ import annotations

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


def test_every_operation_is_registered():
    program = ("import importlib, pkgutil, penstock.ops\n"
               "from penstock.graph.opdef import REGISTRY\n"
               "before = set(REGISTRY)\n"
               "for info in pkgutil.iter_modules(penstock.ops.__path__, 'penstock.ops.'):\n"
               "    importlib.import_module(info.name)\n"
               "print(sorted(set(REGISTRY) - before))")
    assert python(program).stdout.strip() == "[]", "operations that penstock.ops/__init__.py does not import"
