"""Exported models beside ONNX Runtime and LiteRT (TFLite), in turns, the shortest of all runs: latency of one input, code and weights.

    PENSTOCK_LITE_PYTHON=env/bin/python PENSTOCK_TF_PYTHON=tf/bin/python python benchmarks/export.py --write

The first Python has onnxruntime, onnx and ai-edge-litert, the second TensorFlow 2, which converts for LiteRT. Without a system its column is empty.
"""
from __future__ import annotations

import argparse
import ctypes
import itertools
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import export_models
import export_penstock
import numpy as np

import penstock as tf

HERE = Path(__file__).parent
PEERS = {"onnx": "ONNX Runtime", "tflite": "LiteRT"}


class Ours:
    """A model that was exported, in this process."""

    def __init__(self, name: str, threads: int, cpu: str, folder: Path) -> None:
        with tf.Graph().as_default(), tf.Session() as session:
            x, y = export_penstock.graph(name)
            self.made = tf.export({"y": y}, {"x": x}, folder, session=session, kind="object", weights="beside", name=name,
                                  threads=threads, cpu=cpu)
            self._x = export_models.data(name)
            self._expected = session.run(y, {x: self._x})
        library = folder / f"lib{name}.so"
        subprocess.run(["gcc", "-shared", "-o", library, self.made.files["object"], "-lm", "-lpthread"], check=True)
        loaded = ctypes.CDLL(str(library))
        self._weights = _aligned(self.made.files["weights"].read_bytes())
        self._memory, self._y = _aligned(bytes(self.made.model_bytes)), np.zeros_like(self._expected)
        assert getattr(loaded, f"{name}_init")(_place(self._memory), _place(self._weights)) == 0
        self._stop = lambda: getattr(loaded, f"{name}_stop")(_place(self._memory)) if threads > 1 else None
        assert threads == 1 or getattr(loaded, f"{name}_start")(_place(self._memory)) == 0
        self._run, self._arguments = getattr(loaded, f"{name}_run"), (_place(self._memory), _place(self._x), _place(self._y))

    def result(self) -> list[float]:
        """The first numbers of its output."""
        assert self._run(*self._arguments) == 0
        np.testing.assert_allclose(self._y, self._expected, rtol=1e-3, atol=1e-5)
        return self._y.ravel()[:8].tolist()

    def best(self, runs: int) -> float:
        """Milliseconds of the shortest of some runs."""
        best = float("inf")
        for _ in range(runs):
            start = time.perf_counter()
            self._run(*self._arguments)
            best = min(best, time.perf_counter() - start)
        return best * 1000

    def close(self) -> None:
        """Ends its threads."""
        self._stop()


class Peer:
    """A model in another system, in a process of its own."""

    def __init__(self, kind: str, python: str, name: str, threads: int, path: Path) -> None:
        command = [python, HERE / "export_peer.py", kind, name, str(threads), path]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=HERE)

    def _ask(self, line: str) -> str:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def result(self) -> list[float]:
        """The first numbers of its output."""
        return [float(word) for word in self._ask("result").strip("[]\n").split(",")]

    def best(self, runs: int) -> float:
        """Milliseconds of the shortest of some runs."""
        return float(self._ask(str(runs)))

    def close(self) -> None:
        """Ends the process."""
        self._process.stdin.close()  # type: ignore[union-attr]
        self._process.wait()


def _aligned(content: bytes) -> np.ndarray:
    memory = np.zeros(len(content) + 64, np.uint8)
    start = -memory.ctypes.data % 64
    memory[start:start + len(content)] = np.frombuffer(content, np.uint8)
    return memory[start:start + len(content)]


def _place(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def measure(name: str, threads: int, cpu: str, rounds: int, runs: int, folder: Path) -> dict[str, object]:
    """The row of a model."""
    ours = Ours(name, threads, cpu, folder / f"{name}{threads}")
    python, converter = os.environ.get("PENSTOCK_LITE_PYTHON"), os.environ.get("PENSTOCK_TF_PYTHON")
    converted = folder / f"{name}.tflite"
    if converter and not converted.exists():
        subprocess.run([converter, HERE / "export_peer.py", "convert", name, converted], cwd=HERE, check=True, stderr=subprocess.DEVNULL)
    kinds = [kind for kind in PEERS if python and (kind != "tflite" or converted.exists())]
    peers = {kind: Peer(kind, str(python), name, threads, converted) for kind in kinds}
    for kind, peer in peers.items():
        np.testing.assert_allclose(peer.result(), ours.result(), rtol=1e-2, atol=1e-4, err_msg=f"{kind} computes something else")
    times = dict.fromkeys(["penstock", *peers], float("inf"))
    for _ in range(rounds):
        for kind, each in (("penstock", ours), *peers.items()):
            times[kind] = min(times[kind], each.best(runs))
    for each in (ours, *peers.values()):
        each.close()
    made = ours.made
    return {"name": name, "threads": threads, "times": times, "code": made.code_bytes, "weights": made.weights_bytes, "memory": made.model_bytes}


HEADS = ["model", "threads", "Penstock, ms", "ONNX Runtime, ms", "LiteRT, ms", "ratio to the better one", "code, KB", "weights, MB", "memory, MB"]


def line(row: dict[str, object]) -> str:
    """A row as Markdown."""
    times = row["times"]
    others = [times[kind] for kind in PEERS if kind in times]
    ratio = f"{times['penstock'] / min(others):.2f}" if others else ""
    shown = [f"{times[kind]:.2f}" if kind in times else "" for kind in ("penstock", *PEERS)]
    sizes = [f"{row['code'] / 1e3:.0f}", f"{row['weights'] / 1e6:.1f}", f"{row['memory'] / 1e6:.1f}"]
    return f"| {' | '.join([row['name'], str(row['threads']), *shown, ratio, *sizes])} |"


def with_table(page: str, lines: list[str]) -> str:
    """The page with another table; what is written around it stays."""
    head, mark, rest = page.partition("<!-- table -->\n\n")
    notes = "".join(itertools.dropwhile(lambda each: each.startswith("|"), rest.splitlines(keepends=True)))
    return f"{head}{mark}{chr(10).join(lines)}\n{notes}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Exported models beside ONNX Runtime and LiteRT.")
    parser.add_argument("--models", nargs="*", default=list(export_models.MODELS), choices=list(export_models.MODELS))
    parser.add_argument("--threads", nargs="*", type=int, default=[1, 2], help="of each system (default: 1 2)")
    parser.add_argument("--cpu", default="host", help="what models are exported for (default: %(default)s, what the others look for, too)")
    parser.add_argument("--rounds", type=int, default=5, help="turns (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=10, help="runs in a turn (default: %(default)s)")
    parser.add_argument("--folder", help="where files go, and are found again (default: a new one)")
    parser.add_argument("--write", action="store_true", help="renew benchmarks/EXPORT.md")
    options = parser.parse_args()
    folder = Path(options.folder or tempfile.mkdtemp(prefix="penstock-export-"))
    lines = [f"| {' | '.join(HEADS)} |", "|---" * len(HEADS) + "|"]
    print("\n".join(lines), flush=True)
    for name, threads in itertools.product(options.models, options.threads):
        lines.append(line(measure(name, threads, options.cpu, options.rounds, options.runs, folder)))
        print(lines[-1], flush=True)
    if options.write:
        page = HERE / "EXPORT.md"
        page.write_text(with_table(page.read_text(), lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
