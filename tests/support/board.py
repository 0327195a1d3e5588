"""A log that Penstock has written, and the real TensorBoard that shows it."""
from __future__ import annotations

import re
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

import penstock as tf
from support.process import environment


def write_log(folder: str) -> None:
    """Three steps of a small model on two devices: its graph, summaries of several kinds, and the statistics of the last step."""
    with tf.Graph().as_default() as graph, tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        with tf.name_scope("layer"), tf.device("/cpu:1"):
            y = tf.matmul(x, tf.Variable(tf.ones([4, 3]), name="w"), name="y")
        tf.summary.scalar("loss", tf.reduce_mean(y))
        tf.summary.histogram("activations", y)
        tf.summary.image("picture", tf.linspace(0.0, 1.0, 64)[None, :, None, None] * tf.ones([1, 64, 64, 3]))
        merged = tf.summary.merge_all()
        sess.run(tf.global_variables_initializer())
        with tf.summary.FileWriter(folder, graph) as writer:
            for step in range(3):
                metadata = tf.RunMetadata()
                summary = sess.run(merged, {x: np.full((5, 4), step)}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
                writer.add_summary(summary, step)
            writer.add_run_metadata(metadata, "step 2", 2)


class TensorBoard:
    """A TensorBoard at ``address``."""

    def __init__(self, address: str) -> None:
        self.address = address

    def get(self, path: str) -> bytes:
        """What it answers."""
        with urllib.request.urlopen(f"{self.address}{path}", timeout=20) as response:
            return response.read()


@contextmanager
def tensorboard(folder: str) -> Iterator[TensorBoard]:
    """Runs TensorBoard in a process of its own, on loopback, on a port that the system picks."""
    command = [sys.executable, "-W", "ignore", "-m", "tensorboard.main", "--logdir", folder, "--host", "127.0.0.1", "--port", "0",
               "--load_fast", "false", "--reload_multifile", "false"]
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    watchdog = threading.Timer(120, process.kill)  # of the start alone: tests of its page may take longer
    watchdog.start()
    try:
        said = []
        for line in process.stderr:
            said.append(line)
            found = re.search(r"http://127\.0\.0\.1:\d+", line)
            if found:
                break
        else:
            raise AssertionError("TensorBoard ended:\n" + "".join(said))
        watchdog.cancel()
        yield TensorBoard(found[0])
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()
        process.stderr.close()
