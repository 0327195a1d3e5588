"""GraphDefs with conditionals and loops, as real TensorFlow 1 wrote them (``data/record_loops.py``), give TensorFlow's results here."""
from pathlib import Path

import numpy as np
import pytest

import penstock as tf

RECORDED = np.load(Path(__file__).parent / "data" / "loops.npz")
NAMES = sorted(key for key in RECORDED if "|" not in key)


@pytest.mark.parametrize("name", NAMES)
def test_imports_and_runs(name):
    tf.import_graph_def(tf.GraphDef.FromString(RECORDED[name].tobytes()), name="")
    wanted = {key.split("|")[1:][0]: [] for key in RECORDED if key.startswith(name + "|")}
    for key in sorted(key for key in RECORDED if key.startswith(name + "|")):
        wanted[key.split("|")[1]].append(RECORDED[key])
    with tf.Session() as session:
        for value, results in wanted.items():
            fetches = ["out:0", "out_1:0"][:len(results)]
            for got, result in zip(session.run(fetches, {"x:0": float(value)}), results):
                np.testing.assert_allclose(got, result, rtol=1e-12)
