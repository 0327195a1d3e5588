"""``penstock launch`` as a user calls it: real processes, signals, and nothing left behind."""
from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from penstock.cli import launch
from support.process import environment

pytestmark = pytest.mark.cluster
PATIENCE = 60.0

SERVING = """
    import json, os, signal, sys, time
    config = json.loads(os.environ["TF_CONFIG"])
    job, index = config["task"]["type"], config["task"]["index"]
    def told(number, frame):
        print("told to stop", flush=True)
        sys.exit(0)
    if job == "ps":
        signal.signal(signal.SIGTERM, told)
        print("serving")
        open("serving", "w").close()
        while True:
            time.sleep(0.05)
    deadline = time.monotonic() + 30
    while "ps" in config["cluster"] and not os.path.exists("serving") and time.monotonic() < deadline:
        time.sleep(0.01)  # a worker that is done stops the ps, which may not have begun
"""


@pytest.fixture
def launcher(tmp_path):
    """Starts ``penstock launch ARGUMENTS`` in a folder with ``prog.py``."""
    started = []

    def start(*arguments: str, program: str = "", **streams):
        (tmp_path / "prog.py").write_text(textwrap.dedent(SERVING) + textwrap.dedent(program), encoding="utf-8")
        streams = streams or {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen([sys.executable, "-m", "penstock", "launch", *arguments], cwd=tmp_path, text=True,
                                   env=environment(TMPDIR=str(tmp_path)), **streams)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def output(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What it wrote until its end."""
    return process.communicate(timeout=PATIENCE)


def line_with(process: subprocess.Popen[str], text: str) -> str:
    """Waits for a line of its output."""
    for line in process.stdout:
        if text in line:
            return line
    raise AssertionError(f"no line with {text!r}")


def is_alive(pid: int) -> bool:
    """False for a process that is gone, or that only waits to be reaped by its new parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + 10.0
    while any(is_alive(pid) for pid in pids):
        assert time.monotonic() < deadline, f"{[pid for pid in pids if is_alive(pid)]} are left"
        time.sleep(0.05)


def test_a_training_job(launcher, tmp_path):
    """ps and workers share a variable; they get TF_CONFIG, flags and the secret, which is in their environment and on no command line."""
    program = """
        import tensorflow as tf
        server = tf.train.Server(config["cluster"], job_name=job, task_index=index)
        secret = os.environ["PENSTOCK_CLUSTER_SECRET"]
        assert secret == open("secret").read().strip() and secret.encode() not in open("/proc/self/cmdline", "rb").read()
        v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
        with tf.Session(server.target) as sess:
            sess.run(v.initializer)
            print("value", sess.run(v.assign_add(2.0)), *sys.argv[1:])
    """
    process = launcher("--ps", "1", "--workers", "2", "--secret-file", "secret", "--flags", "prog.py", "--flag=1", program=program)
    out, err = output(process)
    assert process.returncode == 0, err
    lines = sorted(out.splitlines())
    assert lines[:2] == ["ps 0     | serving", "ps 0     | told to stop"]
    for index, line in enumerate(lines[2:]):
        flags = rf"--flag=1 --job_name=worker --task_index={index} --ps_hosts=[\d.:]+ --worker_hosts=[\d.:,]+"
        assert re.fullmatch(rf"worker {index} \| value 2.0 {flags}", line)
    assert err.startswith("penstock: ps 127.0.0.1:") and "\x1b" not in out + err
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600


def test_a_failed_task_is_started_again(launcher, tmp_path):
    program = """
        if index == 1 and not os.path.exists("mark"):
            open("mark", "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        print("done")
    """
    process = launcher("--ps", "1", "--workers", "2", "prog.py", program=program)
    out, err = output(process)
    assert process.returncode == 0, err
    assert "worker 1 was ended by SIGKILL; starting it again in 0.5 s (1 of 3)" in err and out.count("done") == 2


def test_the_job_fails_with_the_code_of_its_worker(launcher):
    process = launcher("--ps", "1", "--workers", "2", "--max-restarts", "1", "prog.py", program="""
        if index == 1:
            sys.exit(7)
        while True:
            time.sleep(0.05)
    """)
    out, err = output(process)
    assert process.returncode == 7 and "the job has failed" in err and "told to stop" in out


STUBBORN = """
    import subprocess
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    print("pids", os.getpid(), child.pid, flush=True)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN if index else signal.SIG_DFL)
    while True:
        time.sleep(0.05)
"""


def pids_of(process: subprocess.Popen[str], count: int) -> list[int]:
    lines = [line_with(process, "pids") for _ in range(count)]
    return [int(word) for line in lines for word in line.split() if word.isdigit() and int(word) > 9]


def test_ctrl_c_ends_all_of_them_also_those_that_do_not_listen(launcher):
    process = launcher("--ps", "1", "--workers", "2", "--grace", "0.5", "prog.py", program=STUBBORN)
    pids = pids_of(process, 2)
    process.send_signal(signal.SIGINT)
    out, err = output(process)
    assert process.returncode == 130 and "SIGINT: ending all tasks" in err and "told to stop" in out
    wait_until_gone(pids)


def test_no_orphans_when_the_launcher_is_killed(launcher):
    """Also those that ignore signals, that are stopped, and what tasks have started."""
    process = launcher("--ps", "1", "--workers", "2", "prog.py", program=STUBBORN)
    pids = pids_of(process, 2)
    os.kill(pids[0], signal.SIGSTOP)
    process.kill()
    process.wait()
    wait_until_gone(pids)


def test_a_status_line_on_a_terminal(launcher):
    main, side = pty.openpty()
    try:
        process = launcher("--ps", "1", "--workers", "1", "prog.py", program="print('hello')\ntime.sleep(0.3)",
                           stdout=side, stderr=side)
        process.wait(PATIENCE)
        seen = os.read(main, 1 << 16).decode()
    finally:
        os.close(side)
        os.close(main)
    assert "ps 1/1 up · worker 1/1 up" in seen
    assert os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or "\x1b[32mworker 0 |\x1b[0m hello" in seen


def test_a_secret_that_others_can_read_is_refused(launcher, tmp_path):
    (tmp_path / "secret").write_text("hush")
    process = launcher("--workers", "1", "--secret-file", "secret", "prog.py")
    text = output(process)[1]
    assert "error: --secret-file secret: " in text and "chmod 600" in text and "Traceback" not in text and process.returncode == 2


@pytest.mark.parametrize(("arguments", "reason"), [
    (["--secret-file", "missing/secret"], "error: --secret-file missing/secret: [Errno 2] No such file or directory"),
    (["--ps", "x"], "argument --ps: 'x' is not a number"), (["--ps", "-1"], "argument --ps: -1 is less than 0"),
    (["--grace", "-1"], "argument --grace: -1 is not a time to wait"),
    (["--flags-as", "--a= 'b"], "argument --flags-as: \"--a= 'b\": No closing quotation"),
    (["--workers", "0"], "there is no task to start"), (["--workers", "1", "."], "can't open '.': there is no such file"),
    (["--workers", "1"], "can't open 'prog.py': there is no such file")])
def test_arguments_that_make_no_sense(arguments, reason, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        launch.main([*arguments, "prog.py"])
    assert ended.value.code == 2 and reason in capsys.readouterr().err


def test_a_secret_that_is_not_there(launcher, monkeypatch):
    monkeypatch.delenv("PENSTOCK_CLUSTER_SECRET", raising=False)
    monkeypatch.setenv("PENSTOCK_CLUSTER_SECRET_FILE", "missing")
    process = launcher("--workers", "1", "prog.py")
    text = output(process)[1]
    assert "error: the cluster's secret: the file of the cluster's secret does not exist: missing" in text and process.returncode == 2


def test_the_job_ends_when_nobody_reads_its_output(launcher):
    """As in `penstock launch ... | head`."""
    process = launcher("--workers", "2", "prog.py", program="while True:\n    print('line', flush=True)\n    time.sleep(0.01)")
    line_with(process, "line")
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(PATIENCE) == 128 + signal.SIGPIPE and "SIGPIPE: ending all tasks" in err and "BrokenPipeError" not in err
