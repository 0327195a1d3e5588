"""``penstock simulate`` as a user calls it: a program is measured in a process of its own."""
from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from penstock.cli import simulate
from penstock.simulate import costs
from penstock.simulate.capture import CaptureOrder
from penstock.simulate.measuring import measure
from penstock.simulate.profile import JobProfile
from support.process import environment

pytestmark = pytest.mark.cluster

PROGRAM = textwrap.dedent("""
    import json, os
    import numpy as np
    import tensorflow as tf

    config = json.loads(os.environ["TF_CONFIG"])
    cluster, job, index = config["cluster"], config["task"]["type"], config["task"]["index"]
    server = tf.train.Server(cluster, job_name=job, task_index=index)
    with tf.device(tf.train.replica_device_setter(cluster=cluster)):
        x = tf.placeholder(tf.float32, [32, 100])
        w = tf.get_variable("w", [100, 10])
        b = tf.get_variable("b", [10])
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session(server.target) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(1000):
            session.run(train, {x: np.ones([32, 100], np.float32)})
    raise SystemExit("nothing stopped the program")
""")
PRICES = costs.Costs(1e-4, 2e-4, 1.5e-4, 5e-5, 1e-5, 1e-5, 1e-10, 2e-11, 1e-5, 1.0)


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    """No calibration: the costs are known."""
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(tmp_path / "cache"))
    costs.keep(PRICES)


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(PROGRAM)
    return path


def test_a_program(program, tmp_path, capsys):
    saved, trace, told = tmp_path / "step.json", tmp_path / "trace.json", tmp_path / "told.json"
    arguments = ["--ps", "2", "--workers", "20", "--runs", "5", "--no-advice", "--save", str(saved), "--json", str(told), "--trace", str(trace)]
    assert simulate.main([*arguments, str(program)]) == 0
    printed = capsys.readouterr().out
    assert "20 workers, 2 ps" in printed and "steps per second" in printed
    prediction = json.loads(told.read_text())
    assert prediction["steps_per_second"] > 0
    assert prediction["bytes_of_variables"] == {"/job:ps/replica:0/task:0": 4000, "/job:ps/replica:0/task:1": 40}
    events = json.loads(trace.read_text())["traceEvents"]
    assert {"worker 0", "worker 19", "ps 1"} <= {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert simulate.main(["--profile", str(saved), "--workers", "40", "--no-advice"]) == 0
    assert "40 workers, 2 ps" in capsys.readouterr().out
    assert simulate.main(["--profile", str(saved), "--ps", "4", "--no-advice"]) == 1
    assert f"{saved} was measured with 2 ps, and the cluster has 4" in capsys.readouterr().err


ESTIMATOR = textwrap.dedent("""
    import sys
    import numpy as np
    import tensorflow as tf

    def model_fn(features, labels, mode):
        loss = tf.losses.mean_squared_error(labels, tf.layers.dense(features, 1)[:, 0])
        train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, tf.train.get_or_create_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    def numbers():
        return tf.data.Dataset.from_tensors((np.ones([32, 20], np.float32), np.ones([32], np.float32))).repeat()

    estimator = tf.estimator.Estimator(model_fn, model_dir=sys.argv[1])
    tf.estimator.train_and_evaluate(estimator, tf.estimator.TrainSpec(numbers, max_steps=1000), tf.estimator.EvalSpec(numbers, steps=1))
""")


def test_an_estimator_has_a_chief(tmp_path, capfd):
    path, told = tmp_path / "estimator.py", tmp_path / "told.json"
    path.write_text(ESTIMATOR)
    arguments = ["--ps", "1", "--workers", "4", "--runs", "5", "--no-advice", "--json", str(told)]
    assert simulate.main([*arguments, str(path), str(tmp_path / "model")]) == 1
    error = capfd.readouterr().err
    assert 'must have one "chief" node' in error and "an estimator needs a chief: --chief" in error
    assert simulate.main([*arguments, "--chief", str(path), str(tmp_path / "model")]) == 0
    assert json.loads(told.read_text())["steps_per_second"] > 0


SYNCHRONOUS = textwrap.dedent("""
    import json, os
    import tensorflow as tf

    config = json.loads(os.environ["TF_CONFIG"])
    cluster = tf.train.ClusterSpec(config["cluster"])
    server = tf.train.Server(cluster, job_name="worker", task_index=0)
    with tf.device(tf.train.replica_device_setter(cluster=cluster)):
        loss = tf.reduce_sum(tf.square(tf.get_variable("w", [1000])))
        workers = cluster.num_tasks("worker")
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), workers, workers)
        train = optimizer.minimize(loss, tf.train.get_or_create_global_step())
    with tf.train.MonitoredTrainingSession(server.target, hooks=[optimizer.make_session_run_hook(True)]) as session:
        while True:
            session.run(train)
""")


def test_a_synchronous_program_of_more_workers_than_runs(tmp_path):
    """The only worker that runs would wait for the gradients of all others: no update was measured, and none simulated."""
    path, saved = tmp_path / "train.py", tmp_path / "step.json"
    path.write_text(SYNCHRONOUS)
    assert simulate.main(["--workers", "50", "--runs", "5", "--no-advice", "--save", str(saved), str(path)]) == 0
    profile = JobProfile.from_json(saved.read_text())
    chief, = profile.beside  # the look for lost tokens, which a clock asks for, is no step that goes on and on
    assert [meeting.count for part in chief.parts for block in part.blocks for meeting in block.meetings if meeting.kind == "take"] == [50]


def test_workers_that_need_each_other_are_not_simulated_from_one(tmp_path, capfd):
    path = tmp_path / "train.py"
    path.write_text(textwrap.dedent("""
        import tensorflow as tf

        strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()

        def step():
            loss = tf.reduce_sum(tf.square(tf.get_variable("w", [10])))
            return tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_or_create_global_step())

        with strategy.scope():
            train = tf.group(strategy.experimental_run_v2(step))
            with tf.train.MonitoredTrainingSession() as session:
                while True:
                    session.run(train)
    """))
    assert simulate.main(["--ps", "0", "--workers", "3", "--no-advice", str(path)]) == 1
    told = capfd.readouterr().err
    assert "is on /job:worker" in told and "--mode allreduce" in told


def test_a_program_without_a_cluster_says_so(tmp_path, capfd):
    path = tmp_path / "alone.py"
    path.write_text("import tensorflow as tf\ntf.Session().run(tf.constant(1.0))\n")
    assert simulate.main(["--ps", "1", str(path)]) == 1
    assert "without running a step on the cluster" in capfd.readouterr().err


def test_a_device_that_no_task_has_is_named(tmp_path, capfd):
    path = tmp_path / "lost.py"
    path.write_text(PROGRAM.replace("b = tf.get_variable", "with tf.device('/job:ps/task:7'): b = tf.get_variable"))
    assert simulate.main(["--ps", "1", "--workers", "2", str(path)]) == 1
    said = capfd.readouterr().err
    assert "/job:ps/task:7" in said and "could not be measured" in said
    assert "/job:ps/replica:0/task:0/device:CPU:0 ], and those of /job:worker/replica:0/task:1. Make sure" in said
    assert "a cluster with a task /job:ps/task:7" in said and "soft_placement" not in said and "--chief" not in said


def test_what_does_not_fit_into_memory(program, capsys):
    assert simulate.main(["--ps", "1", "--runs", "3", "--memory", "1kB", str(program)]) == 1
    assert "'w'" in capsys.readouterr().err


GRAPH = textwrap.dedent("""
    import sys
    import penstock as tf
    x = tf.placeholder(tf.float32, [None, 100])
    w = tf.get_variable("w", [100, 10])
    with tf.device(sys.argv[2]):
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w)), name="loss")
    tf.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")
    tf.io.write_graph(tf.get_default_graph(), *sys.argv[1].rsplit("/", 1), as_text=False)
""")


def graph(tmp_path, device=""):
    path = tmp_path / "graph.pb"
    subprocess.run([sys.executable, "-c", GRAPH, str(path), device], check=True, env=environment(), timeout=60)
    return str(path)


def test_a_graph_def(tmp_path, capfd):
    arguments = ["--ps", "2", "--workers", "20", "--runs", "5", "--no-advice", "--batch", "8"]
    assert simulate.main([*arguments, "--target", "train", graph(tmp_path)]) == 0
    printed = capfd.readouterr().out
    assert "graph.pb: 20 workers, 2 ps" in printed and "memory             ps 0: 4.0 kB of variables" in printed


def test_a_graph_def_for_a_parameter_server_that_the_cluster_does_not_have(tmp_path, capfd):
    assert simulate.main(["--ps", "0", "--target", "train", graph(tmp_path, "/job:ps/task:0")]) == 1
    said = capfd.readouterr().err
    assert "Cannot assign a device for operation" in said and "/job:ps/task:0" in said
    assert "graph.pb could not be measured" in said and "--chief" not in said


def test_what_is_wrong_with_a_graph_def(tmp_path, capsys):
    nonsense = tmp_path / "bad.pb"
    nonsense.write_bytes(b"hello")
    assert simulate.main([str(nonsense)]) == 1
    assert "holds no GraphDef" in capsys.readouterr().err
    path = graph(tmp_path)
    assert simulate.main(["--target", "nope", path]) == 1
    assert "no operation 'nope'" in capsys.readouterr().err


def test_the_softmax_of_the_language_model_is_computed_where_its_shards_are():
    """Words, rows, activations and their gradients travel; the weights of a shard do not, nor does their gradient."""
    example = Path(__file__).parents[2] / "examples" / "language_model.py"
    program = [str(example), "--sampled", "0", "--vocabulary", "2000", "--units", "16", "--batch", "4"]
    profile = measure(CaptureOrder(program, 2, 1, "", runs=20))  # more runs than it takes to tell the perplexity
    shard = 1000 * 512 * 4
    sent = {message.bytes for part in profile.step.parts for block in part.blocks for message in block.sends}
    assert profile.variables["/job:ps/replica:0/task:1"]["softmax/part_1"] == shard
    assert 4 * 20 * 1000 * 4 in sent and max(sent) < shard / 2  # the logits of a shard


def test_a_bad_argument_is_told_without_a_page_of_options(capsys):
    with pytest.raises(SystemExit):
        simulate.main(["--memory", "much", "p.py"])
    assert len(capsys.readouterr().err.splitlines()) == 2


@pytest.mark.parametrize("arguments", [[], ["--workers", "x", "p.py"], ["--network", "fast", "p.py"], ["--cores", "0", "p.py"],
                                       ["--profile", "a.json", "--save", "b.json"], ["--target", "train", "p.py"],
                                       ["--straggler", "late", "p.py"], ["--memory", "much", "p.py"], ["--workers", "0", "p.py"],
                                       ["--steps", "0", "p.py"], ["--backups", "1", "p.py"], ["--mode", "sync", "--backups", "-1", "p.py"],
                                       ["--straggler", "pareto:1ms,0.01", "p.py"], ["--memory", "0", "p.py"], ["--cores", "1e300", "p.py"],
                                       ["--cores", "nan", "p.py"], ["--workers", "999999999999", "p.py"]])
def test_bad_arguments(arguments):
    with pytest.raises(SystemExit) as ended:
        simulate.main(arguments)
    assert ended.value.code == 2


@pytest.mark.parametrize("arguments, told", [
    (["--workers", "500000", "--steps", "1000"], "500,000 workers with 1,000 steps each are too much to simulate"),
    (["--trace", "nowhere/timeline.json"], "--trace nowhere/timeline.json: no file can be written there"),
    (["--json", "."], "--json .: no file can be written there"),
    (["--machines", "garbage.json"], "garbage.json: the file of machines has no list")])
def test_what_cannot_be_is_told_before_anything_is_measured(arguments, told, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(simulate.measuring, "measure", lambda *_, **__: pytest.fail("the program was run"))
    Path("garbage.json").write_text("machines")
    Path("train.py").write_text("")
    assert simulate.main([*arguments, "train.py"]) == 1
    assert told in capsys.readouterr().err


def test_a_file_that_is_not_there():
    command = [sys.executable, "-m", "penstock", "simulate", "nowhere.py"]
    result = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=60)
    assert result.returncode == 1
    assert "there is no such file" in result.stderr


@pytest.mark.parametrize("content", [b"\xff\xfe", b"hello", b"{}"])
def test_a_file_that_is_no_profile_is_named(content, tmp_path, capsys):
    path = tmp_path / "step.json"
    path.write_bytes(content)
    assert simulate.main(["--profile", str(path)]) == 1
    assert f"{path} is not what --save has written" in capsys.readouterr().err


def test_a_calibration_alone_is_printed_and_kept(monkeypatch, capsys):
    between = costs.Costs(1e-4, 9e-4, 8e-4, 5e-5, 1e-5, 1e-5, 2e-9, 2e-9, 1e-5, 1.0)
    new = costs.Costs(1e-4, 3e-4, 1.5e-4, 5e-5, 1e-5, 1e-5, 1e-10, 2e-11, 1e-5, 1.0, network=between)
    monkeypatch.setattr(simulate.calibration, "measure", lambda: new)
    assert simulate.main(["--calibrate"]) == 0
    shown = capsys.readouterr().out
    assert "between machines" in shown and "0.30 ms" in shown and "0.90 ms" in shown and "2.00 + 2.00 ns" in shown
    assert costs.measured_before() == new


def test_a_program_that_is_told_of_parameter_servers_needs_one(program, capsys):
    assert simulate.main(["--ps", "0", "--flags", str(program)]) == 1
    assert "is told of its parameter servers (--ps_hosts), and the cluster has none: add --ps 1" in capsys.readouterr().err
