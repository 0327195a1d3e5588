"""GFLOP/s of products and convolutions, layer by layer: Penstock's kernels, NumPy's BLAS on a product of the same size, and PyTorch.

    python benchmarks/contractions.py [--threads 1] [--only conv] [--seconds 0.3]

A convolution is measured three times: forward, gradient for the input, gradient for the filter. NumPy multiplies matrices of the size of the
convolution's windows and filters, which leaves out the work of gathering the windows. PyTorch (channels last) is measured in a process of its
own, if PENSTOCK_TORCH_PYTHON names a Python that has it. Each number is the fastest run within the given time.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parent.parent / "src"


class Product(NamedTuple):
    """``a @ b``, either of them transposed."""

    name: str
    m: int
    n: int
    k: int
    transpose_a: bool = False
    transpose_b: bool = False
    batch: int = 0


class Conv(NamedTuple):
    """A convolution, NHWC, SAME unless said otherwise."""

    name: str
    batch: int
    size: int
    depth: int
    outputs: int
    window: int
    stride: int = 1
    padding: str = "SAME"


PRODUCTS = [
    Product("large", 2048, 2048, 2048), Product("large, b transposed", 1024, 1024, 1024, False, True),
    Product("large, a transposed", 1024, 1024, 1024, True), Product("mlp forward", 128, 512, 784),
    Product("mlp input gradient", 128, 784, 512, False, True), Product("mlp weight gradient", 784, 512, 128, True),
    Product("mlp last layer", 128, 10, 512), Product("lstm cell", 20, 800, 400),
    Product("lstm softmax", 400, 10000, 200), Product("lstm softmax, input gradient", 400, 200, 10000, False, True),
    Product("lstm softmax, weight gradient", 200, 10000, 400, True), Product("fully connected", 16, 4096, 9216),
    Product("fully connected, input gradient", 16, 9216, 4096, False, True), Product("fully connected, weight gradient", 9216, 4096, 16, True),
    Product("attention scores", 128, 128, 32, False, True, 64), Product("attention values", 128, 32, 128, batch=64),
    Product("transformer projection", 1024, 256, 256), Product("transformer feed-forward", 1024, 1024, 256),
    Product("transformer logits", 1024, 8192, 256), Product("transformer logits, input gradient", 1024, 256, 8192, False, True),
]
CONVOLUTIONS = [
    Conv("alexnet 1", 16, 227, 3, 64, 11, 4, "VALID"), Conv("alexnet 2", 16, 27, 64, 192, 5), Conv("alexnet 3", 16, 13, 192, 384, 3),
    Conv("alexnet 4", 16, 13, 384, 256, 3), Conv("overfeat 2", 8, 24, 96, 256, 5, 1, "VALID"), Conv("overfeat 4", 8, 12, 512, 1024, 3),
    Conv("vgg 1", 8, 224, 3, 64, 3), Conv("vgg 2", 8, 112, 64, 128, 3), Conv("vgg 3", 8, 56, 128, 256, 3), Conv("vgg 4", 8, 56, 256, 256, 3),
    Conv("vgg 5", 8, 28, 512, 512, 3), Conv("vgg 6", 8, 14, 512, 512, 3), Conv("googlenet 1", 8, 224, 3, 64, 7, 2),
    Conv("googlenet 2", 8, 56, 64, 192, 3), Conv("googlenet 3a 1x1", 8, 28, 192, 64, 1), Conv("googlenet 3a 3x3", 8, 28, 96, 128, 3),
    Conv("googlenet 3a 5x5", 8, 28, 16, 32, 5), Conv("googlenet 4a 3x3", 8, 14, 96, 208, 3), Conv("googlenet 5b 1x1", 8, 7, 832, 384, 1),
    Conv("googlenet 2, one image", 1, 56, 64, 192, 3), Conv("googlenet 4a 3x3, one image", 1, 14, 96, 208, 3),
    Conv("googlenet 5b 1x1, one image", 1, 7, 832, 384, 1), Conv("resnet 1", 4, 16, 64, 64, 3), Conv("resnet 3", 4, 8, 128, 256, 3, 2),
]
WAYS = ("forward", "input", "filter")


def fastest(run, seconds):
    """The time of the fastest run."""
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end or best == float("inf"):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def extent(conv):
    """Pixels of the output along one axis."""
    return -(-conv.size // conv.stride) if conv.padding == "SAME" else (conv.size - conv.window) // conv.stride + 1


def flops(case):
    """Operations."""
    if isinstance(case, Product):
        return 2 * case.m * case.n * case.k * max(case.batch, 1)
    return 2 * case.batch * extent(case) ** 2 * case.window ** 2 * case.depth * case.outputs


class Penstock:
    """Our kernels, through the ops' own ``native``."""

    def __init__(self, threads):
        self.threads = threads

    def product(self, case):
        """A function that multiplies."""
        a, b = factors(case)
        attrs = {"transpose_a": case.transpose_a, "transpose_b": case.transpose_b, "adj_x": case.transpose_a, "adj_y": case.transpose_b}
        return self._table("BatchMatMulV2" if case.batch else "MatMul", [a, b], attrs)

    def convolution(self, case, way):
        """A function that convolves."""
        import numpy as np
        x, f, dy = arrays(case)
        attrs = {"strides": (1, case.stride, case.stride, 1), "padding": case.padding, "data_format": "NHWC", "dilations": (1, 1, 1, 1),
                 "explicit_paddings": ()}
        if way == "forward":
            return self._table("Conv2D", [x, f], attrs)
        if way == "input":
            return self._table("Conv2DBackpropInput", [np.array(x.shape, np.int32), f, dy], attrs)
        return self._table("Conv2DBackpropFilter", [x, np.array(f.shape, np.int32), dy], attrs)

    def _table(self, op_type, values, attrs):
        import numpy as np

        import penstock  # noqa: F401 (registers the ops)
        from penstock.graph.opdef import lookup
        from penstock.native.calls import Array, Buffer
        from penstock.native.emitter import Emitter
        from penstock.native.table.call_table import CallTable
        emitter = Emitter(self.threads)
        inputs = [Array(Buffer("input", v.nbytes), v.dtype, v.shape, v.strides, 0, v if v.dtype.kind == "i" else None) for v in values]
        (output,) = lookup(op_type).emit(emitter, inputs, attrs)
        table, result = CallTable(emitter, inputs, [output]), np.empty(output.shape, output.dtype)
        table.run([*values, result])
        return lambda: table.run([*values, result])


class NumPy:
    """BLAS."""

    def product(self, case):
        """A function that multiplies."""
        import numpy as np
        a, b = factors(case)
        a, b = np.swapaxes(a, -1, -2) if case.transpose_a else a, np.swapaxes(b, -1, -2) if case.transpose_b else b
        result = np.matmul(a, b)
        return lambda: np.matmul(a, b, out=result)

    def convolution(self, case, way):
        """A function that multiplies matrices of the same size."""
        pixels, taps = case.batch * extent(case) ** 2, case.window ** 2 * case.depth
        sizes = {"forward": (pixels, case.outputs, taps), "input": (pixels, taps, case.outputs, False, True),
                 "filter": (taps, case.outputs, pixels, True)}
        return self.product(Product(case.name, *sizes[way]))


class Torch:
    """PyTorch's ops, channels last."""

    def product(self, case):
        """A function that multiplies."""
        import torch
        a, b = map(torch.from_numpy, factors(case))
        a, b = a.mT if case.transpose_a else a, b.mT if case.transpose_b else b
        result = a @ b
        return lambda: torch.matmul(a, b, out=result)

    def convolution(self, case, way):
        """A function that convolves; the padding is symmetric, where SAME may not be."""
        import torch
        x, f, dy = (torch.from_numpy(each) for each in arrays(case))
        x, dy = x.permute(0, 3, 1, 2), dy.permute(0, 3, 1, 2)
        f = f.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
        pad = case.window // 2 if case.padding == "SAME" else 0
        if way == "forward":
            return lambda: torch.conv2d(x, f, None, case.stride, pad)
        wanted = [way == "input", way == "filter", False]
        rest = [[0], [case.stride] * 2, [pad] * 2, [1, 1], False, [0, 0], 1, wanted]
        return lambda: torch.ops.aten.convolution_backward(dy, x, f, *rest)


def factors(case):
    """Random matrices."""
    import numpy as np
    generator, batch = np.random.default_rng(0), (case.batch,) * bool(case.batch)
    shapes = ((case.k, case.m) if case.transpose_a else (case.m, case.k), (case.n, case.k) if case.transpose_b else (case.k, case.n))
    return [generator.standard_normal((*batch, *shape), np.float32) for shape in shapes]


def arrays(case):
    """Random images, filters and gradients."""
    import numpy as np
    generator, out = np.random.default_rng(0), extent(case)
    filters = (case.window, case.window, case.depth, case.outputs)
    shapes = ((case.batch, case.size, case.size, case.depth), filters, (case.batch, out, out, case.outputs))
    return [generator.standard_normal(shape, np.float32) for shape in shapes]


def cases(only):
    """(label, case, way) of all rows."""
    for case in PRODUCTS:
        if only in "product " + case.name:
            yield f"product: {case.name}", case, ""
    for case in CONVOLUTIONS:
        for way in WAYS:
            if only in f"conv {case.name} {way}" and not (case.depth == 3 and way == "input"):
                yield f"conv: {case.name}, {way}", case, way


def measure(library, case, way, seconds):
    """GFLOP/s."""
    run = library.convolution(case, way) if way else library.product(case)
    return flops(case) / fastest(run, seconds) / 1e9


def serve(threads):
    """PyTorch's process: a line with label and seconds in, a number out."""
    import torch
    torch.set_num_threads(threads)
    rows = {label: (case, way) for label, case, way in cases("")}
    for line in sys.stdin:
        label, seconds = json.loads(line)
        print(measure(Torch(), *rows[label], seconds), flush=True)


def start_torch(threads):
    """The process, or None."""
    python = os.environ.get("PENSTOCK_TORCH_PYTHON")
    if not python:
        return None
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [python, __file__, "--serve", "--threads", str(threads)]
    return subprocess.Popen(command, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def main():
    """Prints the table."""
    parser = argparse.ArgumentParser(description="GFLOP/s of contractions.")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.threads)
    os.environ["OPENBLAS_NUM_THREADS"] = str(options.threads)
    sys.path.insert(0, str(SOURCE))
    torch = start_torch(options.threads)
    print(f"{'GFLOP/s':<42}{'Penstock':>10}{'NumPy':>10}{'PyTorch':>10}")
    for label, case, way in cases(options.only):
        numbers = [measure(Penstock(options.threads), case, way, options.seconds), measure(NumPy(), case, way, options.seconds)]
        if torch is not None:
            print(json.dumps([label, options.seconds]), file=torch.stdin, flush=True)
            numbers.append(float(torch.stdout.readline()))
        print(f"{label:<42}" + "".join(f"{number:10.1f}" for number in numbers), flush=True)
    if torch is not None:
        torch.stdin.close()
        torch.wait()
    return None


if __name__ == "__main__":
    main()
