"""Errors of convolutions: the layers of VGG-16, and some of 5x5 windows, on normal numbers, native and by PyTorch, beside the same sums in float64.

    PENSTOCK_TORCH_PYTHON=... python benchmarks/convolution_errors.py [--layers 28x28x512,...] [--batch 1]

An error is the largest one of a result, and in brackets the root of the mean of their squares, both in units of the root mean square of the result
itself. ``ratio`` is Penstock's largest error over PyTorch's; the aim is 4 at most. Inputs, filters and what comes back are N(0, 1), so that no layer
is easier for its numbers. This file also runs in PyTorch's Python.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

SOURCE = Path(__file__).parent.parent / "src"
AIM = 4.0
LAYERS = {"224x224x3": (224, 3, 64), "224x224x64": (224, 64, 64), "112x112x64": (112, 64, 128), "112x112x128": (112, 128, 128),
          "56x56x128": (56, 128, 256), "56x56x256": (56, 256, 256), "28x28x256": (28, 256, 512), "28x28x512": (28, 512, 512),
          "14x14x512": (14, 512, 512)}  # size, channels in and out; windows are 3x3, but for
WIDE = {"14x14x32": (14, 32, 64), "27x27x64": (27, 64, 192), "35x35x48": (35, 48, 64), "28x28x16": (28, 16, 32)}  # those of 5x5
PASSES = ("forward", "input gradient", "filter gradient")
Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


def numbers(batch: int, taps: int, size: int, depth: int, outputs: int) -> Arrays:
    """Images, filters, and what comes back to the result."""
    random = np.random.default_rng(0)
    shapes = ((batch, size, size, depth), (taps, taps, depth, outputs), (batch, size, size, outputs))
    return tuple(random.standard_normal(shape, np.float32) for shape in shapes)  # type: ignore[return-value]


def exact(x: np.ndarray, w: np.ndarray, dy: np.ndarray) -> Arrays:
    """The three passes in float64, tap after tap."""
    size, taps = x.shape[1], w.shape[0]
    around = ((0, 0), (taps // 2,) * 2, (taps // 2,) * 2, (0, 0))
    inside, behind = np.pad(x.astype(np.float64), around), np.pad(dy.astype(np.float64), around)
    filters, back = w.astype(np.float64), dy.astype(np.float64)
    forward, backward, weights = np.zeros(dy.shape), np.zeros(x.shape), np.zeros(w.shape)
    for row in range(taps):
        for column in range(taps):
            window = inside[:, row:row + size, column:column + size]
            forward += window @ filters[row, column]
            backward += behind[:, taps - 1 - row:, taps - 1 - column:][:, :size, :size] @ filters[row, column].T
            weights[row, column] = np.tensordot(window, back, ((0, 1, 2), (0, 1, 2)))
    return forward, backward, weights


def by_penstock(x: np.ndarray, w: np.ndarray, dy: np.ndarray) -> Arrays:
    """The three passes of native code."""
    import penstock as tf

    with tf.Graph().as_default(), tf.Session() as session:
        images, filters, back = (tf.placeholder(tf.float32, each.shape) for each in (x, w, dy))
        result = tf.nn.conv2d(images, filters, [1] * 4, "SAME")
        return tuple(session.run([result, *tf.gradients(result, [images, filters], back)], {images: x, filters: w, back: dy}))


def by_torch(x: np.ndarray, w: np.ndarray, dy: np.ndarray) -> Arrays:
    """The three passes of PyTorch."""
    import torch

    images = torch.from_numpy(x).permute(0, 3, 1, 2).requires_grad_()
    filters = torch.from_numpy(w).permute(3, 2, 0, 1).requires_grad_()
    result = torch.nn.functional.conv2d(images, filters, padding=w.shape[0] // 2)
    result.backward(torch.from_numpy(dy).permute(0, 3, 1, 2))
    return (result.detach().permute(0, 2, 3, 1).numpy(), images.grad.permute(0, 2, 3, 1).numpy(), filters.grad.permute(2, 3, 1, 0).numpy())


def worker(framework: str, layers: list[str], batch: int) -> None:
    """Prints {layer: [[largest error, root mean square] per pass]} as JSON."""
    compute = by_penstock if framework == "penstock" else by_torch
    found: dict[str, list[list[float]]] = {}
    for name in layers:
        given = numbers(batch, *((5, *WIDE[name]) if name in WIDE else (3, *LAYERS[name])))
        found[name] = [_error(value, truth) for value, truth in zip(compute(*given), exact(*given))]
    print(json.dumps(found))


def _error(value: np.ndarray, truth: np.ndarray) -> list[float]:
    off, unit = np.abs(value - truth), float(np.sqrt(np.mean(truth ** 2)))
    return [float(off.max()) / unit, float(np.sqrt(np.mean(off ** 2))) / unit]


def measure(python: str, framework: str, args: argparse.Namespace) -> dict[str, Any]:
    """The errors of a framework, in a process of its own."""
    command = [python, __file__, "--worker", framework, "--layers", args.layers, "--batch", str(args.batch)]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PENSTOCK_COMPILE": "eager"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{framework} failed:\n{done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> int:
    """The table, as Markdown; 1 if an error is above the aim."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", default=",".join({**LAYERS, **WIDE}))
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--worker", default="")
    args = parser.parse_args()
    if args.worker:
        worker(args.worker, args.layers.split(","), args.batch)
        return 0
    from peers import PEERS, python_of  # needs a newer Python than PyTorch's may be
    from text_tables import markdown

    ours, theirs = measure(sys.executable, "penstock", args), measure(python_of(PEERS["torch"]), "torch", args)
    rows, worst = [], 0.0
    for name, errors in ours.items():
        for label, (most, mean), (other, other_mean) in zip(PASSES, errors, theirs[name]):
            worst = max(worst, most / other)
            layer = f"{name} to {WIDE[name][2]}, 5x5" if name in WIDE else f"{name} to {LAYERS[name][2]}"
            rows.append([layer, label, f"{most:.1e} ({mean:.1e})", f"{other:.1e} ({other_mean:.1e})", f"{most / other:.2f}"])
    print(markdown(["layer", "pass", "Penstock", "PyTorch", "ratio"], rows))
    print(f"the largest ratio: {worst:.2f} (aim: at most {AIM:.0f})")
    return int(worst > AIM)


if __name__ == "__main__":
    sys.exit(main())
