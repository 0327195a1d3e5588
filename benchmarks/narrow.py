"""Inference with fewer bits: layers of ResNet and GoogLeNet in half precision and with 8 bits, beside PyTorch.

    PENSTOCK_TORCH_PYTHON=... python benchmarks/narrow.py [--rounds 3] [--seconds 0.5]

Each number is the fastest run, in milliseconds, of rounds in which the frameworks take turns, each in a process of its own. Half precision is
computed in float32 and stored in 16 bits. With 8 bits a layer is a convolution or a product of quint8 and (PyTorch: qint8) weights, whose sums are
made 8 bits again: in Penstock by ``Requantize`` in a range that is given, in PyTorch as a part of ``quantized.conv2d``.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parent.parent / "src"
LAYERS = {  # batch, size, channels in and out, window; a product has no size
    "ResNet 3x3, 56x56x64": (4, 56, 64, 64, 3), "ResNet 3x3, 14x14x256": (4, 14, 256, 256, 3), "ResNet 1x1, 28x28x512": (4, 28, 512, 128, 1),
    "GoogLeNet 1x1, 14x14x512": (8, 14, 512, 160, 1), "GoogLeNet 5x5, 14x14x32": (8, 14, 32, 96, 5), "product 128x1024x1000": (128, 0, 1024, 1000, 1)}
KINDS = ("float32", "float16", "bfloat16", "8 bits")


def fastest(run: Callable[[], Any], seconds: float) -> float:
    """Milliseconds."""
    for _ in range(3):
        run()
    times, stop = [], time.perf_counter() + seconds
    while not times or time.perf_counter() < stop:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


def penstock_layer(kind: str, batch: int, size: int, depth: int, outputs: int, window: int) -> Callable[[], Any]:
    """A step that runs a layer, on weights that are constants."""
    import numpy as np

    import penstock as tf
    rng = np.random.default_rng(0)
    shape, weights = ((batch, size, size, depth), (window, window, depth, outputs)) if size else ((batch, depth), (depth, outputs))
    graph = tf.Graph()
    with graph.as_default():
        if kind == "8 bits":
            x, value = tf.placeholder(tf.quint8, shape), rng.integers(0, 256, shape, np.uint8)
            w = tf.bitcast(tf.constant(rng.integers(0, 256, weights, np.uint8)), tf.quint8)
            bounds = {"min_a": -1.0, "max_a": 1.0, "min_b": -1.0, "max_b": 1.0}
            sums = tf.nn.quantized_conv2d(x, w, *bounds.values(), [1] * 4, "SAME") if size else tf.raw_ops.QuantizedMatMul(a=x, b=w, **bounds)
            result = tf.raw_ops.Requantize(input=sums[0], input_min=sums[1], input_max=sums[2], requested_output_min=-30.0, requested_output_max=30.0,
                                           out_type=tf.quint8)[0]
        else:
            dtype = tf.as_dtype(kind)
            x, value = tf.placeholder(dtype, shape), rng.standard_normal(shape).astype(dtype.as_numpy_dtype)
            w = tf.constant(rng.standard_normal(weights).astype(dtype.as_numpy_dtype))
            result = tf.nn.relu(tf.nn.conv2d(x, w, [1] * 4, "SAME") if size else tf.matmul(x, w))
    session = tf.Session(graph=graph)
    return lambda: session.run(result, {x: value})


def torch_layer(kind: str, batch: int, size: int, depth: int, outputs: int, window: int) -> Callable[[], Any]:
    """The same of PyTorch, with channels last."""
    import torch
    torch.manual_seed(0)
    x = torch.randn(batch, depth, size, size).to(memory_format=torch.channels_last) if size else torch.randn(batch, depth)
    w = torch.randn(outputs, depth, window, window).to(memory_format=torch.channels_last) if size else torch.randn(outputs, depth)
    if kind == "8 bits":
        given = torch.quantize_per_tensor(x, 0.03, 128, torch.quint8)
        narrow = torch.quantize_per_tensor(w, 0.03, 0, torch.qint8)
        if size:
            packed = torch.ops.quantized.conv2d_prepack(narrow, None, [1, 1], [window // 2] * 2, [1, 1], 1)
            return lambda: torch.ops.quantized.conv2d(given, packed, 0.1, 128)
        ready = torch.ops.quantized.linear_prepack(narrow, None)
        return lambda: torch.ops.quantized.linear(given, ready, 0.1, 128)
    dtype = getattr(torch, kind)
    x, w = x.to(dtype), w.to(dtype)

    def run() -> Any:
        with torch.inference_mode():
            return torch.relu(torch.nn.functional.conv2d(x, w, padding=window // 2) if size else torch.nn.functional.linear(x, w))
    return run


def worker(framework: str, seconds: float) -> None:
    """Prints the milliseconds of all layers, as JSON."""
    make = penstock_layer if framework == "penstock" else torch_layer
    print(json.dumps({f"{name}|{kind}": fastest(make(kind, *layer), seconds) for name, layer in LAYERS.items() for kind in KINDS}))


def measure(rounds: int, seconds: float) -> dict[str, dict[str, float]]:
    """Per framework, the fastest run of each layer."""
    found: dict[str, dict[str, float]] = {}
    for framework, python in [*_frameworks()] * rounds:
        environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PENSTOCK_COMPILE": "eager"}
        done = subprocess.run([python, __file__, "--worker", framework, "--seconds", str(seconds)], env=environment, capture_output=True, text=True,
                              check=True)
        best = found.setdefault(framework, {})
        for name, value in json.loads(done.stdout.splitlines()[-1]).items():
            best[name] = min(value, best.get(name, value))
    return found


def _frameworks() -> Iterator[tuple[str, str]]:
    yield "penstock", sys.executable
    if "PENSTOCK_TORCH_PYTHON" in os.environ:
        yield "torch", os.environ["PENSTOCK_TORCH_PYTHON"]


def main() -> None:
    """The table, as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--worker", default="")
    options = parser.parse_args()
    if options.worker:
        worker(options.worker, options.seconds)
        return
    found = measure(options.rounds, options.seconds)
    print("| layer | kind | " + " | ".join(found) + (" | ratio |" if "torch" in found else " |"))
    print("|---|---|" + "---|" * (len(found) + ("torch" in found)))
    for name in found["penstock"]:
        times = [each[name] for each in found.values()]
        ratio = f" {times[0] / times[1]:.2f} |" if len(times) > 1 else ""
        print("| " + " | ".join(name.split("|")) + " | " + " | ".join(f"{each:.2f}" for each in times) + " |" + ratio)


if __name__ == "__main__":
    main()
