"""One process: makes the step of a case, runs it, and says when its 1st, 10th, 100th and 1000th run had ended.

Usage: python arrival.py MODULE VARIANT CASE STEPS SECONDS      (python arrival.py tf_models penstock mlp 1000 60)

The moments are those of the machine's monotonic clock, from which time_to_result.py takes the moment at which it started the process. After SECONDS
no further step begins. This file also runs inside TensorFlow 1's Python 3.7.
"""
from __future__ import annotations

import importlib
import json
import sys
import time

MARKS = (1, 10, 100, 1000)


def main(module, variant, case, steps, seconds):
    """Prints a line of JSON."""
    end = time.monotonic() + float(seconds)
    name, _, turns = case.partition("@")  # loop_gradient@300: a loop of 300 turns
    if turns:
        importlib.import_module("models.architectures").LOOP_TURNS = int(turns)
    step = importlib.import_module("models." + module).make(name, variant)
    moments = {}
    for number in range(1, int(steps) + 1):
        if time.monotonic() > end:
            break
        step.run()
        if number in MARKS:
            moments[number] = time.monotonic()
    framework = variant if variant in sys.modules else module.partition("_")[0]
    print(json.dumps({"moments": moments, "version": sys.modules[framework].__version__}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
