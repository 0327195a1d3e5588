"""Records what TensorFlow 1.15.5 gives for the expressions of ``cases.py``, into ``recorded.json``: ``python3.7 tests/ragged/record.py``."""
import json
import os

import numpy as np
import tensorflow as tf
from cases import CASES, evaluated

HERE = os.path.dirname(os.path.abspath(__file__))

if __name__ == "__main__":
    with open(os.path.join(HERE, "recorded.json"), "w") as file:
        file.write("{\n" + ",\n".join(json.dumps(name) + ": " + json.dumps(evaluated(tf, np, source)) for name, source in CASES.items()) + "\n}\n")
