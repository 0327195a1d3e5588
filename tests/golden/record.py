"""Records what real TensorFlow 1 gives for the cases of ``cases/*.py``, into ``data/FAMILY.npz``.

    python3.7 tests/golden/record.py math nn      # needs TensorFlow 1.15 and nothing of Penstock
    python3.7 tests/golden/record.py all
    python3.7 tests/golden/record.py math --again # also those that are recorded already

A case is a pair (name, function) that a family's ``cases(tf, np)`` yields; the function builds a tensor, or a list, tuple or dict of them, in a graph
of its own. Recorded are, per tensor, its value, type, static shape, name and op type; if building or running raises, the class of the error.
Each recording keeps the hash of the case's source, so that a changed case is noticed. Recorded cases are kept as they are.
"""

import argparse
import json
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import replay  # noqa: E402 (beside this file)


def _environment():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import warnings
    warnings.simplefilter("ignore")
    import tensorflow as tf
    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    return tf


def record(tf, family, again=False):
    """Writes the recordings of a family; returns how many are new."""
    path = os.path.join(HERE, "data", family + ".npz")
    old, arrays = ({}, {}) if again or not os.path.exists(path) else replay.read(path)
    table, kept, new = {}, {}, 0
    for name, function in replay.cases_of(family, tf, np):
        digest = replay.digest(function)
        if name in table:
            raise SystemExit(f"{family}: two cases are called {name!r}")
        if name in old and old[name]["source"] == digest:
            table[name] = old[name]
            kept.update({key: arrays[key] for key in arrays if key.split("|")[0] == name})
            continue
        entry, values = replay.run(tf, function)
        entry["source"] = digest
        table[name] = entry
        kept.update({f"{name}|{index}": value for index, value in enumerate(values) if value is not None})
        new += 1
        print("{}: {}{}".format(family, name, " raises " + entry["error"] if "error" in entry else ""))
    _write(path, table, kept)
    return new


def _write(path, table, arrays):
    if not os.path.isdir(os.path.dirname(path)):
        os.makedirs(os.path.dirname(path))
    text = json.dumps(table, indent=0, sort_keys=True).encode()
    np.savez_compressed(path, __table__=np.frombuffer(text, np.uint8), **arrays)


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("family", nargs="+", help="names of files in cases/, or all")
    parser.add_argument("--again", action="store_true", help="record anew what is recorded already")
    options = parser.parse_args()
    tf = _environment()
    families = replay.families() if options.family == ["all"] else options.family
    for family in families:
        print(f"{family}: {record(tf, family, options.again)} new")


if __name__ == "__main__":
    main()
