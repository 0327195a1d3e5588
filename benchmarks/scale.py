"""What a parameter server keeps for its workers: its resident memory as their number grows: `python benchmarks/scale.py`.

A parameter server is a process of its own. Its workers are sessions of this process, each with a graph of its own: what a server keeps for a session,
its registered parts and their plans, is what it keeps for a worker, but for the connection.
"""
from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "src"))
sys.path.insert(0, str(HERE))

from text_tables import markdown  # noqa: E402

import penstock as tf  # noqa: E402
from penstock.distributed.client import connection  # noqa: E402
from penstock.distributed.messages import Message  # noqa: E402

SERVE = "import sys; from penstock.simulate.calibration import serve; serve(*sys.argv[1:])"
LAYERS = {"2 variables": 1, "20 variables": 10}


def training(layers: int) -> tuple[Any, Any]:
    """(what to initialise, a step): small layers, so that what is measured is what a server keeps and not what it holds."""
    with tf.device(tf.train.replica_device_setter(1, worker_device="/job:worker/task:0")):
        value = tf.ones([4, 8])
        for index in range(layers):
            value = tf.layers.dense(value, 8, name=f"layer_{index}")
        step = tf.train.GradientDescentOptimizer(0.01).minimize(tf.reduce_mean(value))
    return tf.global_variables_initializer(), step


def resident(target: str) -> int:
    """Bytes of a task."""
    return int(json.loads(bytes(connection(target).call(Message("Describe")).blobs[0]))[0]["memory"])


def grow(target: str, worker: Any, layers: int, counts: list[int]) -> list[int]:
    """The memory of the server with so many sessions that train."""
    sessions: list[Any] = []
    memory = []
    for count in counts:
        while len(sessions) < count:
            with tf.Graph().as_default():
                initialise, step = training(layers)
                sessions.append(tf.Session(worker.target))
                if len(sessions) == 1:
                    sessions[0].run(initialise)
                for _ in range(3):
                    sessions[-1].run(step)
        memory.append(resident(target))
    for session in sessions:
        session.close()
    return memory


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sessions", type=int, nargs="+", default=[0, 1, 8, 32, 64])
    counts = sorted(parser.parse_args().sessions)
    rows = []
    for label, layers in LAYERS.items():
        ps = subprocess.Popen([sys.executable, "-c", SERVE, "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.DEVNULL)
        try:
            assert ps.stdout is not None
            target = ps.stdout.readline().strip()
            worker = tf.train.Server({"ps": [target.partition("://")[2]], "worker": ["localhost:0"]}, "worker", 0)
            memory = grow(target, worker, layers, counts)
        finally:
            ps.kill()
            ps.wait()
        each = (memory[-1] - memory[1]) / max(counts[-1] - counts[1], 1)
        rows.append([label, *(f"{size / 1e6:.1f}" for size in memory), f"{each / 1e3:.0f} kB"])
    print(markdown(["MB of a parameter server, with", *(f"{count} workers" for count in counts), "each further one"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
