"""`penstock status --browser` over a real cluster, in a real browser: `make browser`."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import textwrap

import pytest

from support.browser import COMMAND, nameless, served

PROGRAM = """
    import json, os, time
    import penstock as tf

    config = json.loads(os.environ["TF_CONFIG"])
    job, index = config["task"]["type"], config["task"]["index"]
    server = tf.train.Server(config["cluster"], job_name=job, task_index=index)
    if job == "ps":
        server.join()
    with tf.device(tf.train.replica_device_setter(cluster=config["cluster"], worker_device=f"/job:worker/task:{index}")):
        step = tf.train.get_or_create_global_step()
        x = tf.random_normal([64, 32])
        hidden = tf.layers.dense(x, 64, tf.nn.relu, name="hidden")
        loss = tf.reduce_mean(tf.square(tf.layers.dense(hidden, 1, name="output") - tf.reduce_sum(x, 1, keepdims=True)))
        train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, step)
        counters = [tf.get_variable(f"counter_{number}", [], trainable=False) for number in range(12)]
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(8, tf.float32, [[]], shared_name="losses")
    put, take, size = queue.enqueue(loss), queue.dequeue(), queue.size()
    with tf.train.MonitoredTrainingSession(server.target, index == 0) as session:
        if index == 0:
            print("TARGET " + server.target.replace("localhost", "127.0.0.1"), flush=True)
        while True:
            session.run(train)
            session.run(put if index else [train] if session.run(size) < 6 else take)
            time.sleep(0.02)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """(target, environment) of a ps and two workers that train, with a secret."""
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "train.py").write_text(textwrap.dedent(PROGRAM))
    secret = folder / "secret"
    command = [*COMMAND, "launch", "--ps", "1", "--workers", "2", "--secret-file", str(secret), str(folder / "train.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            target = next(line.split("TARGET ")[1].strip() for line in process.stdout if "TARGET " in line)
            yield target, {"PENSTOCK_CLUSTER_SECRET_FILE": str(secret)}
        finally:
            process.send_signal(signal.SIGINT)
            process.stdout.read()


@pytest.fixture(scope="module")
def address(cluster):
    target, environment = cluster
    with served("status", "--browser", "--no-open", target, env=environment) as (address, _):
        yield address


def test_a_cluster_is_watched_and_recorded(page, address):
    page.goto(address)
    page.wait_for_function("document.getElementById('up').textContent === '3/3'")
    page.wait_for_function("Number(document.getElementById('rate').textContent) > 0")
    assert page.locator(".card").count() == 3
    page.get_by_text("hidden/kernel", exact=True).first.wait_for()
    page.locator("#queues").get_by_text("losses").wait_for()
    assert page.locator("#sessions tbody tr").count() >= 2
    page.get_by_role("button", name="Record the next steps").click()
    page.locator("#timeline .bar").first.wait_for(state="attached")
    names = page.locator("#timeline text").all_text_contents()
    assert {"ps 0", "worker 0", "worker 1"} <= {name.strip() for name in names}
    assert nameless(page) == []
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as a Chrome trace").click()
    with open(download.value.path()) as file:
        events = json.load(file)["traceEvents"]
    assert len({event["pid"] for event in events if event["ph"] == "X"}) == 3
    assert all(url.startswith(address) or url.startswith("blob:") for url in page.asked)


def test_the_focus_stays_where_it_is(page, address):
    """Also on what is drawn anew each second: a button can be pressed by its key."""
    page.goto(address)
    button = page.get_by_role("button", name="Show all 17")
    button.focus()
    button.evaluate("each => { window.drawn = each; }")
    page.wait_for_function("!window.drawn.isConnected")
    page.keyboard.press("Enter")
    page.get_by_text("counter_11", exact=True).wait_for()


@pytest.mark.parametrize("page", [{"width": 390, "height": 844, "device_scale_factor": 2, "color_scheme": "dark"}], indirect=True, ids=["phone"])
def test_on_a_phone(page, address):
    page.goto(address)
    page.wait_for_function("document.getElementById('up').textContent === '3/3'")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_without_the_secret_there_is_no_page(cluster):
    environment = {**os.environ, "PENSTOCK_CLUSTER_SECRET": "x" * 40, "HOME": "/nonexistent"}
    ended = subprocess.run([*COMMAND, "status", "--browser", "--no-open", cluster[0]], capture_output=True, text=True, env=environment, timeout=120)
    assert ended.returncode == 1 and cluster[0] in ended.stderr and "http://" not in ended.stdout


def test_ctrl_c_ends_it(cluster):
    target, environment = cluster
    with served("status", "--browser", "--no-open", target, env=environment) as (_, process):
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
