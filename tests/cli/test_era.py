"""What programs of 2016-2019 expect of NumPy, Python and other libraries; each in a process of its own, as it cannot be taken back."""
from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.process import python

_BEGIN = "import os\nos.environ['PENSTOCK_QUIET'] = '1'\nfrom penstock.cli import era\nera.activate(); era.activate()\nimport numpy as np\n"


def run(program: str) -> str:
    return python(_BEGIN + program).stdout


def test_methods_and_conversions_of_arrays():
    """Those of records (``tostring``), and of losses with one element."""
    assert run("""
a = np.arange(4, dtype=np.uint8)
print(a.tostring(), np.float32(1).tostring() == np.float32(1).tobytes(), a.ptp(), a.reshape(2, 2).tostring("F"))
a.itemset(1, 7)
b = a.reshape(2, 2)
b.itemset((1, 0), 9)
print(a, np.array([1], "<i2").newbyteorder().item())
print(int(np.array([3])), float(np.array([[2.5]])), "%d %.1f" % (np.array([3]), np.array([2.5])), bool(np.array([])), bool(np.array([1])))
""") == "b'\\x00\\x01\\x02\\x03' True 3 b'\\x00\\x02\\x01\\x03'\n[0 7 9 3] 256\n3 2.5 3 2.5 False True\n"


def test_numbers_are_shown_as_numbers():
    """In lists, too, which is how programs print what a step gives."""
    assert run("print([np.float32(0.5), np.int64(3)], {'loss': np.float32(2)}, repr(np.bool_(True)), [np.float32([1, 2])])") == \
        "[0.5, 3] {'loss': 2.0} True [array([1., 2.], dtype=float32)]\n"


@pytest.mark.parametrize(("expression", "message"), [
    ("float(np.ones(2))", "scalars"), ("bool(np.ones(2))", "ambiguous"), ("int(np.array('x'))", "invalid")])
def test_what_never_worked_is_an_error(expression, message):
    assert message in run(f"try: {expression}\nexcept (TypeError, ValueError) as error: print(error)")


def test_types_cannot_be_changed_by_others():
    assert "immutable" in run("try: np.ndarray.shout = 1\nexcept TypeError as error: print(error)")


def test_arguments_of_numpy():
    assert run("""
print(np.fromstring(b"\\x01\\x02", np.uint8), np.fromstring("1 2", sep=" "), np.fromstring(b"\\0" * 8, np.float32, 1).flags.writeable)
print(np.array([1, 2], copy=False), np.sum(x for x in [1, 2]), np.percentile([1, 2, 4], 40, interpolation="lower"))
print(np.histogram([1, 2, 2], 2, normed=True)[0], np.linspace(0, 1, 3.0), np.concatenate(x for x in [np.ones(1), np.zeros(1)]))
print(np.math.sqrt(4), np.cast["int32"](1.5), np.lib.pad([1], 1, "constant"), np.linalg.linalg.LinAlgError.__name__, np.sctypes["float"][1].__name__)
""").splitlines() == ["[1 2] [1. 2.] True", "[1 2] 3 1", "[0.66666667 1.33333333] [0.  0.5 1. ] [1. 0.]", "2.0 1 [0 1 0] LinAlgError float32"]


def test_arrays_are_printed_whole():
    """``threshold=np.nan`` was how to ask for that; what else is set stays."""
    assert run("""
np.set_printoptions(threshold=np.nan)
print("..." in str(np.arange(2000)), [np.float32(2)])
np.set_printoptions(2, 5)
print(np.arange(7) / 3)
""").splitlines() == ["False [2.0]", "[0.   0.33 0.67 ... 1.33 1.67 2.  ]"]


def test_functions_and_modules_of_python():
    assert run("""
import random, json, array, unittest, xml.etree.ElementTree as etree
print(random.randint(2.0, 4 / 2), random.sample({5}, 1), json.loads("[1]", encoding="utf-8"), array.array("b", [1]).tostring())
print(hasattr(unittest.TestCase, "assertEquals"), etree.fromstring("<a><b/></a>").getchildren()[0].tag)
from six.moves import xrange
print(list(xrange(2)))
try: random.randint(0.5, 1)
except (TypeError, ValueError): print("refused")
""").splitlines() == ["2 [5] [1] b'\\x01'", "True b", "[0, 1]", "refused"]


def test_the_parts_of_distutils():
    """Ours, which stand in where Python and setuptools have none."""
    assert run("""
from penstock.cli.era.old_distutils import LooseVersion as V, StrictVersion, strtobool, find_executable, version
print(V("1.15.0") >= V("1.4"), V("1.15.0") < "1.15.5rc1", V("2.0") == "2.0", str(V("1.x")), version.LooseVersion is V)
print(StrictVersion("1.4a2") < StrictVersion("1.4"), StrictVersion("1.4") == StrictVersion("1.4.0"), strtobool("Yes"), strtobool("off"))
for wrong in (lambda: strtobool("maybe"), lambda: StrictVersion("1.x")):
    try: wrong()
    except ValueError as error: print(error)
""").splitlines() == ["True True True 1.x True", "True True 1 0", "invalid truth value 'maybe'", "invalid version number '1.x'"]


def test_names_of_scipy():
    assert run("import scipy.signal, scipy.integrate\nprint(len(scipy.signal.hann(4)), scipy.integrate.simps([1, 2, 3]))").split() == ["4", "4.0"]


def test_names_of_pandas():
    pytest.importorskip("pandas")
    assert run("""
import pandas as pd
frame = pd.DataFrame({"a": [1, 2, 3], "b": [4.0, 5.0, 6.0]})
named = pd.DataFrame({"a": [1, 2, 3]}, index=list("xyz"))
print(frame.as_matrix().shape, frame.append({"a": 9}, ignore_index=True).shape, frame.append(frame).shape, [k for k, _ in frame.iteritems()])
print(frame.ix[0, "a"], frame.ix[:1].shape, frame.ix[frame.a > 1].shape, frame.ix[:, 0:1].shape, frame.ix[:, ["a", "b"]].shape)
print(named.ix["x", "a"], named.ix[0:2].shape, named.ix[0, 0], named.ix["x":"y"].shape)
frame.ix[0, "a"], frame.ix[:, "c"] = 7, 1
print(frame.a.tolist(), frame.c.tolist())
try: frame.ix[9, "a"]
except KeyError: print("no row 9")
""").splitlines() == ["(3, 2) (4, 2) (6, 2) ['a', 'b']", "1 (2, 2) (2, 2) (3, 1) (3, 2)", "1 (2, 1) 1 (2, 1)", "[7, 2, 3] [1, 1, 1]", "no row 9"]


def test_names_of_networkx():
    pytest.importorskip("networkx")
    assert run("""
import networkx as nx
graph = nx.path_graph(3)
graph.add_node(9)
print(graph.node[0], sorted(map(len, nx.connected_component_subgraphs(graph))), nx.to_numpy_matrix(graph).shape, list(graph.nodes_iter())[:2])
from networkx.readwrite import json_graph
data = json_graph.node_link_data(graph)
print(len(data["links"]), len(json_graph.node_link_graph(data).edges), len(nx.node_link_graph(nx.node_link_data(graph, edges="edges")).edges))
""") == "{} [1, 3] (4, 4) [0, 1]\n2 2 2\n"


def test_generated_code_of_protobuf_before_3_20(tmp_path):
    """``old_pets_pb2.txt`` is what protoc 3.5 made of a message with an enumeration, a message inside and an extension."""
    shutil.copy(Path(__file__).with_name("old_pets_pb2.txt"), tmp_path / "pets_pb2.py")
    program = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import pets_pb2
from google.protobuf import json_format, symbol_database
pet = pets_pb2.Pet(name="Tom", kind=pets_pb2.DOG, weights=[1, 2], legs=[pets_pb2.Pet.Leg(length=3)])
pet.Extensions[pets_pb2.age] = 7
read = pets_pb2.Pet.FromString(pet.SerializeToString())
print(read == pet, read.legs[0].length, read.Extensions[pets_pb2.age], pets_pb2.Kind.Name(read.kind), pets_pb2.DESCRIPTOR.package)
print(json_format.MessageToDict(pets_pb2.Pet.Leg(length=1), including_default_value_fields=True))
print(symbol_database.Default().GetPrototype(pets_pb2.Pet.DESCRIPTOR) is pets_pb2.Pet, pets_pb2.Pet.__module__)
"""
    assert run(program) == "True 3 7 DOG pets\n{'length': 1}\nTrue pets_pb2\n"
    assert "Descriptors cannot be created directly" in python(program, check=False).stderr
