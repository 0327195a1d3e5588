"""One framework's process: makes the step of a case, then measures it whenever it is asked.

Usage: python worker.py MODULE VARIANT CASE      (python worker.py tf_models penstock mlp)

It answers with a line of JSON when it is ready (version, parameters), and one for each line that it reads: that line says for how many seconds
to run steps, the answer has the time of the fastest one (per batch, if a step goes through several). Between two questions it is idle, so that the
frameworks can take turns.
"""
from __future__ import annotations

import importlib
import json
import sys
import time

WARM_UP = 2  # steps that do not count: plans, compilers, allocators
SLICE = 0.01  # seconds: steps that are shorter are timed together


def timed(run, count):
    """Seconds per step, of ``count`` steps in a row."""
    start = time.perf_counter()
    for _ in range(count):
        run()
    return (time.perf_counter() - start) / count


def fastest(run, seconds):
    """The seconds of the fastest step within a span of time; at least one step is run."""
    end = time.perf_counter() + seconds
    best = timed(run, 1)
    count = max(1, int(SLICE / best))
    while time.perf_counter() < end:
        best = min(best, timed(run, count))
    return best


def answer(**values):
    """A line for the driver."""
    print(json.dumps(values), flush=True)


def main(module, variant, case):
    """Answers until its input ends."""
    step = importlib.import_module("models." + module).make(case, variant)
    for _ in range(WARM_UP):
        step.run()
    framework = variant if variant in sys.modules else module.partition("_")[0]
    answer(version=sys.modules[framework].__version__, parameters=step.parameters)
    for line in sys.stdin:
        answer(seconds=fastest(step.run, float(line)) / step.batches)
    if step.close is not None:
        step.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
