"""Training on a cluster, with recovery: variables on a parameter server, a worker that is killed and started again and goes on where it was.

    python examples/distributed.py                                   # the whole story, on this machine
    penstock launch --ps 1 --workers 2 examples/distributed.py       # as tasks of a cluster
"""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

import numpy as np


def task(steps, model_dir):
    """One task of the cluster that TF_CONFIG describes."""
    import penstock as tf

    described = json.loads(os.environ["TF_CONFIG"])
    cluster, job, index = tf.train.ClusterSpec(described["cluster"]), described["task"]["type"], described["task"]["index"]
    server = tf.train.Server(cluster, job_name=job, task_index=index)
    if job == "ps":
        server.join()
    with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device=f"/job:{job}/task:{index}")):
        x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 1])
        weights = tf.get_variable("weights", [3, 1], initializer=tf.zeros_initializer())
        step = tf.train.get_or_create_global_step()
        train = tf.train.GradientDescentOptimizer(0.05).minimize(tf.losses.mean_squared_error(y, tf.matmul(x, weights)), step)
    rng = np.random.RandomState(index)
    with tf.train.MonitoredTrainingSession(server.target, is_chief=index == 0, checkpoint_dir=model_dir, save_checkpoint_steps=20,
                                           save_summaries_steps=None, log_step_count_steps=None,
                                           hooks=[tf.train.StopAtStepHook(last_step=steps)]) as session:
        print(f"worker {index} begins at step {session.run(step)}", flush=True)
        while not session.should_stop():
            features = rng.normal(size=(32, 3))
            done = session.run([step, train], {x: features, y: features @ [[1.0], [-2.0], [3.0]]})[0]
            print(f"step {done}", flush=True)
            time.sleep(0.01)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(cluster, job, arguments):
    """A task as a process."""
    environment = {**os.environ, "TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": job, "index": 0}})}
    return subprocess.Popen([sys.executable, __file__, *arguments], env=environment, stdout=subprocess.PIPE, text=True)


def main(steps=120):
    """Returns the step at which the second worker began: where the first one's last checkpoint was."""
    cluster = {"ps": [f"localhost:{free_port()}"], "worker": [f"localhost:{free_port()}"]}
    with tempfile.TemporaryDirectory() as folder:
        server = start(cluster, "ps", [str(steps), folder])
        try:
            worker = start(cluster, "worker", [str(steps), folder])
            for line in worker.stdout:
                if line.startswith("step") and int(line.split()[1]) >= steps // 2:
                    break
            worker.send_signal(signal.SIGKILL)
            worker.wait()
            print(f"the worker was killed at {line.strip()}")
            output, _ = start(cluster, "worker", [str(steps), folder]).communicate(timeout=120)
        finally:
            server.kill()
            server.wait()
    begun = int(output.split("begins at step ")[1].split()[0])
    print(f"the next one began at step {begun} and came to {output.split()[-1]}")
    return begun


if __name__ == "__main__":
    if "TF_CONFIG" in os.environ:
        task(int(sys.argv[1]) if len(sys.argv) > 1 else 300, sys.argv[2] if len(sys.argv) > 2 else "/tmp/penstock_distributed")
    else:
        main()
