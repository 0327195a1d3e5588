"""The program of a board on a cluster: the same network, whose variables are on parameter servers, trained by several workers.

Every task runs it (``penstock launch --ps 1 --workers 2 playground.py FOLDER``). Beside the network, the parameter servers keep what the page needs:
what each worker reports of its steps, and for how long each is to pause after a step.
"""
from __future__ import annotations

import inspect
import textwrap
from dataclasses import dataclass
from typing import Any

from penstock.playground.program import DATA, FILE, HEAD, model_parts
from penstock.playground.settings import OPTIMIZERS, POINTS, PROBLEMS, BadSettings, Settings, one_of, whole_number

MODES = ("asynchronous", "synchronous", "backup")
MOST_PS, MOST_WORKERS = 2, 4
REPORTED = ("steps", "staleness", "worst", "seconds")  # of each worker: so far, of its last step, the largest lately, per step

_USE = "a cluster: penstock launch --ps {ps} --workers {workers} {file} FOLDER"
_NETWORK = '''

def network(cluster, index):
    """The graph of a worker. Variables, and what workers report, are on the ps."""
    with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device="/job:worker/task:%d" % index)):
        global_step = tf.train.get_or_create_global_step()
'''
_STEP = '''
        with tf.device(global_step.device):
            before = tf.cast(global_step, tf.int32)  # of the values that the step is computed with
        with tf.control_dependencies([before]):
            position = tf.identity(position)
'''
_TRAINING = '''
        optimizer = {optimizer}
        {synchronous}
        train = optimizer.minimize({objective}, global_step, name="train")
        with tf.control_dependencies([train]), tf.device(global_step.device):  # read there: what was sent before would be old
            after = tf.cast(global_step.read_value(), tf.int32)
        reports = tf.get_variable("reports", [{workers}, {reported}], initializer=tf.zeros_initializer(), trainable=False, use_resource=False)
        pauses = tf.get_variable("pauses", [{workers}], initializer=tf.constant_initializer({pause}), trainable=False, use_resource=False)
        row = tf.placeholder(tf.float32, [{reported}], name="row")
        report = tf.scatter_update(reports, index, row)
        pause = tf.identity(pauses)[index]
    return locals()


if __name__ == "__main__":
    config = json.loads(os.environ["TF_CONFIG"])
    cluster, job, index = config["cluster"], config["task"]["type"], config["task"]["index"]
    server = tf.train.Server(cluster, job_name=job, task_index=index)
    if job == "ps":
        server.join()
    graph = network(cluster, index)
    rng = np.random.RandomState(SEED + index)
    hooks = {hooks}
    settings = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % index])  # no worker waits for another one to start
    staleness = []
    with tf.train.MonitoredTrainingSession(server.target, index == 0, sys.argv[1], hooks=hooks, save_checkpoint_secs=2, save_summaries_steps=None,
                                           save_summaries_secs=None, log_step_count_steps=None, config=settings) as session:
        began = time.time()
        for step, batch in enumerate(batches(BATCH), 1):
            feeds = {{graph["fed"]: points[batch], graph["target"]: labels[batch]}}
            seen, _, done, pause = session.run([graph["before"], graph["train"], graph["after"], graph["pause"]], feeds)
            # updates of others between reading the values and changing them; -1 is a gradient that came too late and was dropped
            staleness = (staleness + [max(0, done - seen - 1)])[-50:]
            if step % 5 == 0:
                session.run(graph["report"], {{graph["row"]: [step, staleness[-1], max(staleness), (time.time() - began) / 5]}})
                began = time.time()
            time.sleep(float(pause))
'''
PAUSE = 0.02  # seconds after each step: a person should see them
_SYNCHRONOUS = "optimizer = tf.train.SyncReplicasOptimizer(optimizer, replicas_to_aggregate={wanted}, total_num_replicas={workers})"


@dataclass(frozen=True)
class ClusterSettings:
    """How many tasks there are, and how they train."""

    ps: int = 1
    workers: int = 2
    mode: str = "asynchronous"


def read_cluster(message: Any) -> ClusterSettings:
    """The settings of a cluster in a message.

    >>> read_cluster({"ps": 1, "workers": 3, "mode": "backup"}).workers
    3
    """
    if not isinstance(message, dict) or set(message) - {"ps", "workers", "mode"}:
        raise BadSettings("a cluster has ps, workers and a mode")
    settings = ClusterSettings(whole_number(1, MOST_PS)(message.get("ps", 1)), whole_number(1, MOST_WORKERS)(message.get("workers", 2)),
                               one_of(MODES)(message.get("mode", "asynchronous")))
    if settings.mode == "backup" and settings.workers < 2:
        raise BadSettings("a backup worker needs another one that it stands in for")
    return settings


def write_cluster_program(settings: Settings, cluster: ClusterSettings) -> str:
    """The text of the program."""
    function = PROBLEMS[settings.problem][settings.data]
    head = HEAD.format(data=settings.data, use=_USE.format(ps=cluster.ps, workers=cluster.workers, file=FILE), seed=settings.seed,
                       noise=settings.noise / 100, share=settings.share / 100, batch=settings.batch)
    model, objective = model_parts(settings)
    inputs, features, rest = model.partition('\nwith tf.name_scope("features"):')
    network = textwrap.indent(inputs, " " * 8) + "        fed = position\n" + _STEP + textwrap.indent(features + rest, " " * 8)
    wanted = cluster.workers - (cluster.mode == "backup")
    training = _TRAINING.format(
        optimizer=OPTIMIZERS[settings.optimizer], objective=objective, workers=cluster.workers, reported=len(REPORTED), pause=PAUSE,
        synchronous="# each worker's gradients are applied as they come" if cluster.mode == "asynchronous"
        else _SYNCHRONOUS.format(wanted=wanted, workers=cluster.workers),
        hooks="[]" if cluster.mode == "asynchronous" else 'graph["optimizer"].make_session_run_hook(index == 0)'.join("[]"))
    return "".join([head.replace("import numpy as np\n", "import json\nimport os\nimport sys\nimport time\n\nimport numpy as np\n"),
                    inspect.getsource(function), DATA.format(data=settings.data, count=POINTS), _NETWORK, network, training])


def build_network(text: str, cluster: dict[str, list[str]]) -> dict[str, Any]:
    """Builds the graph of worker 0 as the default graph; its names by name."""
    namespace: dict[str, Any] = {"__name__": "playground"}
    exec(compile(text, FILE, "exec"), namespace)
    built: dict[str, Any] = namespace["network"](cluster, 0)
    return built
