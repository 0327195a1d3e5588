"""TensorFlow's own clients of a Penstock cluster, beside Penstock's: milliseconds of steps that they ask for: `python benchmarks/foreign.py`.

    python foreign.py client FRAMEWORK TARGET SECONDS        a client, in the Python of its framework; prints the time of each step as JSON

A server is a process of Penstock; the clients take turns. The target is 1.2 times the time of a Penstock client. Penstock's clients talk to a server
on their machine through a socket and shared memory; TensorFlow's know only gRPC. What that takes is the floor: the time of TensorFlow's client at a
server that sends the same replies and computes nothing (``foreign_floor.py``). A fourth column has TensorFlow's client at a server of TensorFlow:
what its users are used to. This file also runs inside TensorFlow's Python, so it keeps to the standard library and NumPy.
"""
from __future__ import annotations

import argparse
import importlib
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
SERVE = "import {} as tf; server = tf.train.Server.create_local_server(); print(server.target.decode() if isinstance(server.target, bytes) " \
    "else server.target, flush=True); server.join()"
STEPS = ("null", "feed and fetch 4 kB", "feed and fetch 1 MB", "MLP, batch 64", "20 fetches")


def steps_of(tf: Any) -> tuple[Any, dict[str, tuple[Any, dict[Any, Any]]]]:
    """(what to initialise, {name: (what is fetched, what is fed)})."""
    x, small, large = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [1024]), tf.placeholder(tf.float32, [1 << 18])
    images, labels = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.int64, [None])
    value = images
    for index, width in enumerate((100, 100, 10)):
        weights = tf.get_variable(f"w{index}", [value.shape[1], width])
        value = tf.matmul(value, weights) if width == 10 else tf.nn.relu(tf.matmul(value, weights))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=value))
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    batch = {images: np.ones([64, 784], np.float32), labels: np.zeros([64], np.int64)}
    found = [(x + 1.0, {x: np.float32(1)}), (small + 1.0, {small: np.ones(1024, np.float32)}), (large + 1.0, {large: np.ones(1 << 18, np.float32)}),
             ([train, loss], batch), ([x + float(number) for number in range(20)], {x: np.float32(1)})]
    return tf.global_variables_initializer(), dict(zip(STEPS, found))


def client(framework: str, target: str, seconds: float) -> dict[str, float]:
    """The median time of each step, in seconds."""
    tf = importlib.import_module("penstock" if framework == "penstock" else "tensorflow.compat.v1")
    if framework != "penstock":
        tf.disable_v2_behavior()
    initialise, steps = steps_of(tf)
    medians = {}
    with tf.Session(target) as session:
        session.run(initialise)
        for name, (fetches, feeds) in steps.items():
            for _ in range(20):
                session.run(fetches, feeds)
            times, end = [], time.perf_counter() + seconds
            while time.perf_counter() < end:
                begin = time.perf_counter()
                session.run(fetches, feeds)
                times.append(time.perf_counter() - begin)
            medians[name] = statistics.median(times)
    return medians


def _started(framework: Any, *command: str) -> Any:
    """A server, which prints where it is."""
    return subprocess.Popen([framework.python, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=framework.environment())


def _times(framework: Any, target: str, seconds: float) -> dict[str, float]:
    """What a client measures, in a process of its own."""
    command = [framework.python, str(Path(__file__).resolve()), "client", framework.name, target, str(seconds)]
    done = subprocess.run(command, env=framework.environment(), capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise RuntimeError(f"the client of {framework.name} failed:\n{done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> int:
    """Starts the servers, lets the clients take turns, prints the table."""
    sys.path.insert(0, str(HERE))
    from cluster import Framework  # needs a newer Python than TensorFlow 1's
    from peers import PEERS, python_of
    from text_tables import markdown

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peer", help="the Python that has TensorFlow")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each step and round")
    args = parser.parse_args()
    frameworks = [Framework("penstock", sys.executable), Framework("tensorflow", args.peer or python_of(PEERS["tf"]))]
    servers = [_started(frameworks[0], "-c", SERVE.format("penstock")), _started(frameworks[0], str(HERE / "foreign_floor.py")),
               _started(frameworks[1], "-c", SERVE.format("tensorflow.compat.v1"))]
    rows: dict[str, dict[str, float]] = {"ours": {}, "theirs": {}, "floor": {}, "home": {}}
    try:
        targets = [server.stdout.readline().strip() for server in servers if server.stdout is not None]
        for _ in range(args.rounds):
            for label, framework, target in zip(rows, [*frameworks, *frameworks[1:] * 2], [targets[0], *targets]):
                for name, taken in _times(framework, target, args.seconds).items():
                    rows[label][name] = min(taken, rows[label].get(name, taken))
    finally:
        for server in servers:
            server.kill()
            server.wait()
    ours, theirs, floor, home = rows.values()
    print(markdown(["step, ms", "Penstock client", "TensorFlow client", "ratio", "floor", "TensorFlow client and server", "over that"],
                   [[name, *(f"{1e3 * each[name]:.3f}" for each in (ours, theirs)), f"{theirs[name] / ours[name]:.2f}",
                     *(f"{1e3 * each[name]:.3f}" for each in (floor, home)), f"{theirs[name] / home[name]:.2f}"] for name in STEPS]))
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["client"]:
        print(json.dumps(client(sys.argv[2], sys.argv[3], float(sys.argv[4]))))
    else:
        sys.exit(main())
