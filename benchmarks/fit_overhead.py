"""What ``model.fit`` costs over a session loop by hand, for the models of ``models/hand_loops.py``: all in one process, epoch by epoch in turn.

There are two loops: around operations as people write them (the LSTM is unrolled there), and around the layers that ``fit`` trains, which differs in
nothing but ``fit``.

    python benchmarks/fit_overhead.py                # all models, about a minute each
    python benchmarks/fit_overhead.py mlp --rounds 40

A host that is shared slows one epoch down and not the next. So epochs are short, many, and interleaved, and what counts is the least time per batch
of each, and the median of the differences between neighbours. Python's calls per batch are counted, too: they do not depend on the machine.
"""
from __future__ import annotations

import argparse
import functools
import statistics
import sys
import time
from collections.abc import Callable

from models import hand_loops, keras_fits
from models.architectures import FITS, Step

import penstock as tf

ROUNDS = {"mlp": 40, "lstm": 20, "resnet": 20, "small": 40}


def step_of(make: Callable[..., Step], case: str) -> Callable[[], object]:
    """An epoch in a graph of its own."""
    graph = tf.Graph()
    with graph.as_default():
        step = make(case, "penstock")

    def run() -> object:
        with graph.as_default():
            return step.run()

    return run


def seconds(run: Callable[[], object]) -> float:
    """How long it takes."""
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def python_calls(run: Callable[[], object]) -> int:
    """How many functions of Python it calls in this thread."""
    count = 0

    def see(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(see)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


def measure(name: str, rounds: int) -> str:
    """The lines of a model."""
    batches, case = FITS[name][1], f"{name}_fit_by_hand"
    fit, by_hand = step_of(keras_fits.make, f"{name}_fit"), step_of(hand_loops.make, case)
    around_layers = step_of(functools.partial(hand_loops.make, keras_layers=True), case)
    runs = (fit, by_hand, around_layers)
    for run in runs * 3:  # planned, compiled, specialised
        run()
    times: list[list[float]] = [[], [], []]
    for number in range(rounds):
        for index in (number, number + 1, number + 2):
            times[index % 3].append(seconds(runs[index % 3]) / batches * 1e6)
    calls = [python_calls(run) / batches for run in runs]
    best = [min(each) for each in times]
    return "\n".join(f"{name:8} {loop:14} {best[0]:10.1f} {best[index]:10.1f} {best[0] / best[index]:7.3f} {best[0] - best[index]:9.1f} "
                     f"{statistics.median(first - second for first, second in zip(times[0], times[index])):9.1f} "
                     f"{calls[0]:8.1f} {calls[index]:8.1f}" for index, loop in ((1, "operations"), (2, "Keras's layers")))


def main() -> None:
    parser = argparse.ArgumentParser(description="What model.fit costs over a session loop by hand.")
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(FITS)} (default: all)")
    parser.add_argument("--rounds", type=int, help="epochs of each")
    options = parser.parse_args()
    print(f"{'model':8} {'the loop is of':14} {'fit us':>10} {'loop us':>10} {'ratio':>7} {'least us':>9} {'median us':>9} {'calls':>8} "
          f"{'of loop':>8}")
    for name in options.models or FITS:
        print(measure(name, options.rounds or ROUNDS[name]), flush=True)


if __name__ == "__main__":
    main()
