"""Fused elementwise kernels against NumPy, and against JAX and PyTorch where their Pythons are given.

    python benchmarks/elementwise.py [--elements 4194304] [--rounds 20]
    PENSTOCK_JAX_PYTHON=... PENSTOCK_TORCH_PYTHON=... python benchmarks/elementwise.py

Computes the sum of tanh(a * b + c) * sigmoid(a) - exp(-b * b) over float32 numbers. GB/s counts the three inputs once: what a kernel that never
writes anything has to read. Each number is the best of the rounds; the frameworks take turns, so a busy moment hits all of them.
"""
from __future__ import annotations

import argparse
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
    """The same three arrays for everybody."""
    import numpy as np
    random = np.random.RandomState(0)
    return [random.standard_normal(elements).astype(np.float32) for _ in range(3)]


def penstock_kernel(reduce):
    """The expression, compiled."""
    import penstock.ops  # noqa: F401 (fills the registry)
    from penstock.compiler.fusion_body import Body, Instruction
    from penstock.compiler.native import compile
    from penstock.graph.dtypes import float32
    from penstock.graph.opdef import REGISTRY

    def step(name: str, *operands: int) -> Instruction:
        return Instruction(REGISTRY[name], {"T": float32}, operands)
    steps = (step("Mul", 0, 1), step("Add", 3, 2), step("Tanh", 4), step("Sigmoid", 0), step("Mul", 5, 6), step("Neg", 1), step("Mul", 8, 1),
             step("Exp", 9), step("Sub", 7, 10))
    return compile(Body((float32,) * 3, steps, (11,), reduce))


def run_penstock(elements: int, rounds: int) -> dict[str, float]:
    """Seconds per call: on all threads, on one, and for ten elements."""
    from penstock.compiler.config import config
    from penstock.compiler.fusion_body import Reduction
    arrays, kernel = inputs(elements), penstock_kernel(Reduction("sum"))
    found = {f"penstock, {config.threads} threads": measure(lambda: kernel(arrays, (elements,)), rounds)}
    config.threads, small = 1, [array[:10] for array in arrays]
    kernel = penstock_kernel(Reduction("sum"))
    found["penstock, 1 thread"] = measure(lambda: kernel(arrays, (elements,)), rounds)
    plain = penstock_kernel(None)
    found["a call"] = measure(lambda: [plain(small, (10,)) for _ in range(1000)], 50) / 1000
    return found


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
    call = best.pop("a call")
    for label, seconds in best.items():
        rate = options.elements * 12 / seconds / 1e9
        print(f"{label:22} {seconds * 1e3:8.2f} ms {rate:7.2f} GB/s   NumPy / this = {best['numpy'] / seconds:5.1f}")
    print(f"a call on 10 elements, {call * 1e6:.2f} µs")


if __name__ == "__main__":
    main()
