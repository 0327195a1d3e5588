"""Exported models with 8-bit weights beside the same with floats: what they get right, how far their results are apart, how large their files are.

    python benchmarks/export_accuracy.py --write      # renews the second table of benchmarks/EXPORT.md

The classifier of ``penstock demo`` is trained on the digits that come with Penstock, once per seed, and reads those that it was not trained on.
MobileNet and ResNet-18 have random weights (``export_models.py``): of these, the results are compared.
"""
from __future__ import annotations

import argparse
import ctypes
import subprocess
import sys
import tempfile
from pathlib import Path

import export_models
import export_penstock
import numpy as np

import penstock as tf
from penstock.cli import demo
from penstock.datasets import load_digits

HERE = Path(__file__).parent


def exported(session: tf.Session, y: tf.Tensor, x: tf.Tensor, inputs: np.ndarray, quantize: bool, batch: int) -> tuple[np.ndarray, int]:
    """The results for each input, by the exported code, and the bytes of the weights."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-accuracy-"))
    made = tf.export({"y": y}, {"x": x}, folder, session=session, kind="object", weights="beside", batch=batch, quantize=quantize)
    library = folder / "model.so"
    subprocess.run(["gcc", "-shared", "-o", library, made.files["object"], "-lm"], check=True)
    code, weights, memory = ctypes.CDLL(str(library)), made.files["weights"].read_bytes(), np.zeros(made.model_bytes + 64, np.uint8)
    held = np.zeros(len(weights) + 64, np.uint8)
    at, weights_at = (array.ctypes.data + -array.ctypes.data % 64 for array in (memory, held))
    ctypes.memmove(weights_at, weights, len(weights))
    assert code.model_init(ctypes.c_void_p(at), ctypes.c_void_p(weights_at)) == 0
    results, takes_batch = [], x.shape[0].value is None
    for start in range(0, len(inputs), batch):
        given = np.ascontiguousarray(inputs[start:start + batch])
        result = np.zeros((batch, *y.shape.as_list()[1:]), np.float32)
        arguments = [ctypes.c_int64(batch)] if takes_batch else []
        places = [ctypes.c_void_p(each.ctypes.data) for each in (given, result)]
        assert code.model_run(ctypes.c_void_p(at), *arguments, *places) == 0
        results.append(result)
    return np.concatenate(results), made.weights_bytes


def digits(seed: int, epochs: int) -> list[str]:
    """The row of the demo's classifier."""
    data, random = load_digits(), np.random.RandomState(seed)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(seed)
        model = demo.build_model()
        session.run(tf.global_variables_initializer())
        for images, labels in demo.batches(data, epochs, random):
            session.run(model.train, {model.images: images, model.labels: labels, model.dropout: demo.DROPOUT})
        found = [exported(session, model.probabilities, model.images, data.test_images, quantize, 60) for quantize in (False, True)]
    right = [f"{np.mean(result.argmax(1) == data.test_labels):.2%}" for result, _ in found]
    return [f"digits, seed {seed}", *right, *_compared(*found)]


def network(name: str, count: int) -> list[str]:
    """The row of a network with random weights."""
    shape, _ = export_models.build(name)
    inputs = np.random.RandomState(2).standard_normal((count, *shape[1:])).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = export_penstock.graph(name)
        found = [exported(session, y, x, inputs, quantize, 1) for quantize in (False, True)]
    return [f"{name}, {count} random inputs", "", "", *_compared(*found)]


def _compared(plain: tuple[np.ndarray, int], narrow: tuple[np.ndarray, int]) -> list[str]:
    agree = np.mean(plain[0].argmax(-1) == narrow[0].argmax(-1))
    return [f"{agree:.2%}", f"{np.abs(plain[0] - narrow[0]).max() / np.abs(plain[0]).max():.2%}", f"{plain[1] / 1e6:.2f}", f"{narrow[1] / 1e6:.2f}"]


def main() -> int:
    parser = argparse.ArgumentParser(description="Exported models with 8-bit weights beside floats.")
    parser.add_argument("--seeds", type=int, default=3, help="classifiers of digits that are trained (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=20, help="of their training (default: %(default)s)")
    parser.add_argument("--inputs", type=int, default=20, help="of each of the networks (default: %(default)s)")
    parser.add_argument("--write", action="store_true", help="renew the table in benchmarks/EXPORT.md")
    options = parser.parse_args()
    heads = ["model", "right with floats", "right with 8 bits", "same answer", "largest difference, of the largest", "weights, MB", "with 8 bits, MB"]
    rows = [heads, ["---"] * len(heads), *(digits(seed, options.epochs) for seed in range(options.seeds)),
            *(network(name, options.inputs) for name in ("mobilenet", "resnet18"))]
    text = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    print(text)
    if options.write:
        page = HERE / "EXPORT.md"
        head, mark, _ = page.read_text().partition("<!-- accuracy -->")
        page.write_text(f"{head}{mark}\n\n{text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
