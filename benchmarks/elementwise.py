"""Fused elementwise kernels against NumPy, and against JAX and PyTorch where their Pythons are given.

    python benchmarks/elementwise.py [--elements 4194304] [--rounds 20]
    PENSTOCK_JAX_PYTHON=... PENSTOCK_TORCH_PYTHON=... python benchmarks/elementwise.py

Computes the sum of tanh(a * b + c) * sigmoid(a) - exp(-b * b) over float32 numbers. GB/s counts the three inputs once: what a kernel that never
writes anything has to read. Each number is the best of the rounds; the frameworks take turns, so a busy moment hits all of them.
"""
from __future__ import annotations

import argparse
import functools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"
PEERS = {"jax": "PENSTOCK_JAX_PYTHON", "torch": "PENSTOCK_TORCH_PYTHON"}


def measure(function, rounds: int) -> float:
    """Seconds of the fastest round, after one that does not count."""
    function()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def inputs(elements: int):
    """The same three arrays for all frameworks."""
    import numpy as np
    random = np.random.RandomState(0)
    return [random.standard_normal(elements).astype(np.float32) for _ in range(3)]


def run_penstock(elements: int, rounds: int) -> dict[str, float]:
    """Seconds per step: on all threads, on one, and for ten elements."""
    import penstock as tf
    from penstock.native.config import config
    config.mode = "eager"
    a, b, c = places = [tf.placeholder(tf.float32, [None]) for _ in range(3)]
    total = tf.reduce_sum(tf.tanh(a * b + c) * tf.sigmoid(a) - tf.exp(-b * b))
    arrays = inputs(elements)
    seconds = {}
    for label, threads, size, count in ((f"penstock, {config.threads} threads", config.threads, elements, 1), ("penstock, 1 thread", 1, elements, 1),
                                        ("a step", 1, 10, 1000)):
        config.threads = threads
        feeds = dict(zip(places, [array[:size] for array in arrays]))
        with tf.Session() as session:
            seconds[label] = measure(functools.partial(_steps, session, total, feeds, count), rounds) / count
    return seconds


def _steps(session, fetch, feeds, count: int) -> None:
    for _ in range(count):
        session.run(fetch, feeds)


def run_numpy(elements: int, rounds: int) -> dict[str, float]:
    """The expression as one writes it."""
    import numpy as np
    a, b, c = inputs(elements)
    return {"numpy": measure(lambda: (np.tanh(a * b + c) * (1 / (1 + np.exp(-a))) - np.exp(-b * b)).sum(), rounds)}


def run_jax(elements: int, rounds: int) -> dict[str, float]:
    """XLA's fusion."""
    import jax
    import jax.numpy as jnp
    a, b, c = map(jnp.asarray, inputs(elements))
    function = jax.jit(lambda a, b, c: (jnp.tanh(a * b + c) * jax.nn.sigmoid(a) - jnp.exp(-b * b)).sum())
    return {"jax": measure(lambda: function(a, b, c).block_until_ready(), rounds)}


def run_torch(elements: int, rounds: int) -> dict[str, float]:
    """Op by op."""
    import torch
    a, b, c = map(torch.from_numpy, inputs(elements))
    return {"torch": measure(lambda: (torch.tanh(a * b + c) * torch.sigmoid(a) - torch.exp(-b * b)).sum(), rounds)}


RUNNERS = {"penstock": run_penstock, "numpy": run_numpy, "jax": run_jax, "torch": run_torch}


def in_process(name: str, python: str, options: argparse.Namespace) -> dict[str, float]:
    """The numbers of one framework, from a process of its own."""
    env = {**os.environ, "PYTHONPATH": str(SOURCE) if name in ("penstock", "numpy") else ""}
    command = [python, __file__, "--only", name, "--elements", str(options.elements), "--rounds", str(options.rounds)]
    return json.loads(subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--elements", type=int, default=1 << 22)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--only", choices=RUNNERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(RUNNERS[options.only](options.elements, options.rounds)))
        return
    pythons = {"penstock": sys.executable, "numpy": sys.executable}
    pythons |= {name: os.environ[variable] for name, variable in PEERS.items() if variable in os.environ}
    best: dict[str, float] = {}
    for _ in range(3):
        for name, python in pythons.items():
            for label, seconds in in_process(name, python, options).items():
                best[label] = min(seconds, best.get(label, seconds))
    step = best.pop("a step")
    for label, seconds in best.items():
        rate = options.elements * 12 / seconds / 1e9
        print(f"{label:22} {seconds * 1e3:8.2f} ms {rate:7.2f} GB/s   NumPy / this = {best['numpy'] / seconds:5.1f}")
    print(f"a step on 10 elements, {step * 1e6:.2f} µs")


if __name__ == "__main__":
    main()
