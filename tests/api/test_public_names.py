"""How much of TensorFlow's API there is. A figure that shrinks fails; one that grows may be raised here.

``data/used_names.txt`` lists names that public programs use, ``data/signatures.txt.gz`` the functions, classes and methods of TensorFlow 1.15.
"""
from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import penstock as tf
from support.process import python

pytestmark = pytest.mark.graph

DATA = Path(__file__).parent / "data"
# Of 14,904 that are recorded.
AT_LEAST = 14_100
SHARE_OF_TWO = 1.0    # of the names that two projects use

PROGRAM = """
import importlib, json, sys
import penstock
penstock.install_as_tensorflow(era=False)
missing = []
for name in json.load(open(sys.argv[1])):
    value, path = importlib.import_module("tensorflow"), "tensorflow"
    for part in name.split(".")[1:]:
        path += "." + part
        try:
            value = getattr(value, part)
        except AttributeError:
            try:
                value = importlib.import_module(path)
            except ImportError:
                missing.append(name)
                break
print(json.dumps(missing))
"""


def test_names_that_programs_use(tmp_path):
    used = [line.split() for line in (DATA / "used_names.txt").read_text().splitlines() if not line.startswith("#")]
    assert len(used) > 1000
    (tmp_path / "names.json").write_text(json.dumps([name for _, name in used]))
    missing = set(json.loads(python(PROGRAM, str(tmp_path / "names.json")).stdout.splitlines()[-1]))
    often = {name for count, name in used if count == "3"}
    assert not missing & often, "names that many programs use are gone"
    twice = {name for count, name in used if count == "2"}
    assert len(twice - missing) >= SHARE_OF_TWO * len(twice), sorted(missing & twice)


def test_names_of_tensorflow():
    def there(name: str) -> bool:
        value = tf
        for part in name.split(".")[1:]:
            value = getattr(value, part, None)
        return value is not None

    with gzip.open(DATA / "signatures.txt.gz", "rt") as lines:
        names = [json.loads(line)[0] for line in lines]
    found = sum(map(there, names))
    assert found >= AT_LEAST, f"{found} of {len(names)} names of TensorFlow 1.15 are there"
