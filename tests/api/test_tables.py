"""The tables: every listed name resolves, and nothing else shows."""
from __future__ import annotations

import importlib
import pkgutil
import types

import pytest

import penstock as tf
import penstock.api
from penstock.api import _table, root
from support.process import python


def namespaces():
    """The modules of the API that have a table, by their names."""
    found = [info.name for info in pkgutil.walk_packages(penstock.api.__path__, "penstock.api.")]
    return [name for name in found if hasattr(importlib.import_module(name), "ORIGINS")]


def entries():
    return [(name, public) for name in namespaces() for public in importlib.import_module(name).ORIGINS]


@pytest.mark.parametrize("namespace", namespaces())
def test_namespace_shows_its_table_and_nothing_else(namespace):
    module = importlib.import_module(namespace)
    assert dir(module) == sorted(module.ORIGINS) == module.__all__
    assert not [name for name in dir(module) if name.startswith("_")]


@pytest.mark.parametrize(("namespace", "name"), entries())
def test_name_resolves(namespace, name):
    value, meant = getattr(importlib.import_module(namespace), name), _table.resolve(importlib.import_module(namespace).ORIGINS[name])
    assert value is meant or value.__wrapped__ is meant  # a spelling of before TensorFlow 1.0 is the function with a warning before it


def test_every_namespace_is_reachable():
    reachable, seen = [root], set()
    while reachable:
        module = reachable.pop()
        seen.add(module.__name__)
        reachable += [value for name, origin in module.ORIGINS.items() if origin.startswith("penstock.api") and origin.endswith(":")
                      and hasattr(value := getattr(module, name), "ORIGINS") and value.__name__ not in seen]
    assert set(namespaces()) - seen - {"penstock.api.root"} == set()


def test_the_package_is_the_root_namespace():
    about = {name for name in vars(types.ModuleType("m"))} | {"__all__", "__builtins__", "__cached__", "__file__", "__path__"}  # of each package
    assert set(root.ORIGINS) | {"__version__", "install_as_tensorflow"} == {name for name in dir(tf) if name in root.ORIGINS or name not in about}
    assert tf.float32 is root.float32
    assert tf.compat.v1 is root


def test_public_names_win_over_implementation_modules():
    assert isinstance(tf.gradients, types.FunctionType)
    assert tf.train.__name__ == "penstock.api.train"


@pytest.mark.parametrize("part", sorted(root.MISSING))
def test_missing_parts_say_so(part):
    with pytest.raises(AttributeError, match=f"no attribute '{part}': .* not in this version of Penstock"):
        getattr(tf, part)
    assert not hasattr(tf, part)


def test_unknown_name():
    with pytest.raises(AttributeError, match=r"^module 'tensorflow' has no attribute 'no_such_name'$"):
        tf.no_such_name  # noqa: B018


def test_a_name_listed_twice_is_refused(monkeypatch):
    module = types.ModuleType("penstock.api.made_up")
    monkeypatch.setitem(importlib.sys.modules, module.__name__, module)
    with pytest.raises(ValueError, match="listed twice"):
        _table.publish(module.__name__, {"math": "sin", "cmath": "sin"})


def test_versions():
    assert tf.__version__ != tf.VERSION == root.__version__ == tf.version.VERSION
    assert tf.VERSION.startswith("1.15")
    assert isinstance(tf.GIT_VERSION, str) and isinstance(tf.COMPILER_VERSION, str)


def test_raw_ops_take_keywords():
    assert tf.raw_ops.Identity(input=tf.constant(1.0)).op.type == "Identity"
    assert "MatMul" in dir(tf.raw_ops)
    with pytest.raises(TypeError, match=r"Sum only takes keyword args \(possible keys: \['input', 'axis', 'keep_dims', 'name'\]\)"):
        tf.raw_ops.Sum([1.0], 0)
    with pytest.raises(TypeError, match=r"Sum\(\) missing a required argument: 'axis'"):
        tf.raw_ops.Sum(input=[1.0])
    assert tf.raw_ops.TopKV2(input=[1.0, 3.0], k=1).indices.name == "TopKV2:1"
    assert tf.raw_ops.Any(input=[True], axis=0).op.type == "Any"
    with pytest.raises(AttributeError, match="no operation of this type"):
        tf.raw_ops.NoSuchOp  # noqa: B018


def test_switches_of_the_one_x_line():
    assert not tf.executing_eagerly()
    tf.disable_eager_execution()
    with pytest.raises(tf.errors.UnimplementedError, match="C\\+\\+"):
        tf.load_op_library("zero_out.so")


def test_programs_find_all_names_in_the_dict_of_a_namespace():
    """google/seq2seq takes the cells of ``tf.contrib.rnn`` from there, while it asks for one of them."""
    python("""if True:
        import penstock as tf
        from penstock.api._table import loaded_members
        assert "GRUBlockCell" in dir(tf.contrib.rnn) and "GRUBlockCell" not in loaded_members(tf.contrib.rnn)
        cells = [each for each in tf.contrib.rnn.__dict__.values() if isinstance(each, type) and issubclass(each, tf.contrib.rnn.RNNCell)]
        assert tf.contrib.rnn.GRUBlockCell in cells and tf.nn.rnn_cell.LSTMCell in cells
        assert vars(tf.bitwise)["bitwise_and"] is tf.bitwise.bitwise_and
    """)
