"""The life of a launched job, by lists of events."""
from __future__ import annotations

import io
import json
import re
import signal
from pathlib import Path

import pytest

from penstock.distributed import launch_logs
from penstock.distributed.cluster_spec import tf_config
from penstock.distributed.launch_logs import Lines, Printer, wants_color
from penstock.distributed.launch_plan import CLASSIC_FLAGS, LaunchPlan, Task, environment
from penstock.distributed.launch_state import LOST, Begin, Exited, Finish, Interrupt, LaunchState, Note, Signal, Start, Tick, describe, exit_code

pytestmark = pytest.mark.process
PS, CHIEF, OTHER = Task("ps", 0), Task("worker", 0), Task("worker", 1)


def begun(max_restarts: int = 1, grace: float = 5.0) -> LaunchState:
    state = LaunchState([PS, CHIEF, OTHER], max_restarts, grace)
    assert state.handle(Begin(), 0.0) == [Start(PS, 0), Start(CHIEF, 0), Start(OTHER, 0)]
    return state


def test_workers_decide_and_ps_are_stopped():
    state = begun()
    assert state.handle(Exited(CHIEF, 0), 1.0) == []
    assert state.handle(Exited(OTHER, 0), 2.0) == [Signal(PS, signal.SIGTERM)]
    assert state.handle(Tick(), 6.9) == [] and state.handle(Tick(), 7.0) == [Signal(PS, signal.SIGKILL)]
    assert state.handle(Exited(PS, -signal.SIGKILL), 8.0) == [Finish(0)] and state.handle(Tick(), 9.0) == []


def test_a_failed_task_is_started_again_after_a_pause():
    state = begun(max_restarts=2)
    first, = state.handle(Exited(OTHER, -signal.SIGKILL), 10.0)
    assert isinstance(first, Note) and "worker 1 was ended by SIGKILL" in first.text and "1 of 2" in first.text
    assert state.handle(Tick(), 10.4) == [] and state.handle(Tick(), 10.5) == [Start(OTHER, 1)]
    state.handle(Exited(OTHER, 1), 20.0)
    assert state.handle(Tick(), 20.9) == [] and state.handle(Tick(), 21.0) == [Start(OTHER, 2)], "the pause doubles"
    assert state.restarts == 2


def test_restarts_are_forgiven_after_healthy_minutes():
    state = LaunchState([PS, CHIEF, OTHER], 1, 5.0, healthy_after=60.0)
    state.handle(Begin(), 0.0)
    for day in range(1, 5):
        note, = state.handle(Exited(OTHER, 1), day * 1000.0)
        assert "in 0.5 s (1 of 1)" in note.text
        state.handle(Tick(), day * 1000.0 + 1.0)
    assert state.restarts == 4, "all of them are told"
    note, *_ = state.handle(Exited(OTHER, 1), 4060.9)
    assert "1 restarts after each other: the job has failed" in note.text


@pytest.mark.parametrize("task", [PS, OTHER])
def test_a_task_that_fails_too_often_ends_the_job(task):
    state = begun(max_restarts=0)
    note, *signals = state.handle(Exited(task, 7), 1.0)
    assert "ended with code 7" in note.text
    workers = [item for item in (CHIEF, OTHER) if item != task]
    assert signals == [Signal(item, signal.SIGTERM) for item in workers], "ps serve until the last worker has gone"
    for item in workers:
        last = state.handle(Exited(item, -signal.SIGTERM), 2.0)
    assert last == ([Finish(7)] if task is PS else [Signal(PS, signal.SIGTERM)])


def test_ctrl_c():
    state = begun()
    note, *signals = state.handle(Interrupt(signal.SIGINT), 1.0)
    assert "SIGINT" in note.text and signals == [Signal(CHIEF, signal.SIGINT), Signal(OTHER, signal.SIGINT)]
    assert state.handle(Exited(CHIEF, 1), 2.0) == []
    assert state.handle(Tick(), 6.0) == [Signal(OTHER, signal.SIGTERM)] and state.handle(Tick(), 11.0) == [Signal(OTHER, signal.SIGKILL)]
    assert state.handle(Exited(OTHER, -9), 11.5) == [Signal(PS, signal.SIGTERM)]
    assert state.handle(Exited(PS, 0), 12.0) == [Finish(130)]


def test_ctrl_c_twice():
    state = begun()
    state.handle(Interrupt(signal.SIGINT), 1.0)
    assert state.handle(Interrupt(signal.SIGINT), 1.5)[1:] == [Signal(CHIEF, signal.SIGKILL), Signal(OTHER, signal.SIGKILL)]


def test_a_task_that_waits_for_its_restart_is_not_started_any_more():
    state = begun()
    state.handle(Exited(OTHER, 1), 1.0)
    state.handle(Interrupt(signal.SIGTERM), 1.1)
    assert not [item for item in state.handle(Tick(), 9.0) if isinstance(item, Start)]


def test_exit_codes():
    assert (exit_code(3), exit_code(-signal.SIGKILL), exit_code(LOST)) == (3, 137, 1)
    assert "machine" in describe(LOST) and describe(-200) == "was ended by signal 200"


def test_what_tasks_are_told():
    plan = LaunchPlan(["prog.py", "x"], ps=1, workers=2, chief=True, evaluator=True, flags=CLASSIC_FLAGS)
    tasks = plan.tasks()
    assert [str(task) for task in tasks] == ["ps 0", "chief 0", "worker 0", "worker 1", "evaluator 0"]
    cluster = plan.cluster({task: f"h:{number}" for number, task in enumerate(tasks)})
    assert cluster == {"ps": ["h:0"], "chief": ["h:1"], "worker": ["h:2", "h:3"]}
    variables = environment(Task("worker", 1), cluster, "hush")
    assert json.loads(variables["TF_CONFIG"]) == {"cluster": cluster, "task": {"type": "worker", "index": 1}}
    command = plan.command(Task("worker", 1), cluster)
    assert command[-5:] == ["x", "--job_name=worker", "--task_index=1", "--ps_hosts=h:0", "--worker_hosts=h:2,h:3"]
    assert variables["PENSTOCK_CLUSTER_SECRET"] == "hush" and not any("hush" in word for word in command)


@pytest.mark.parametrize("job", ["ps", "worker"])
def test_what_tasks_are_told_on_kubernetes(job):
    """The example's TF_CONFIGs name the tasks that its StatefulSet and its Job have."""
    manifest = (Path(__file__).parents[2] / "examples" / "kubernetes.yaml").read_text()
    texts = [" ".join(text.split()) for text in re.findall(r"value: >-\n(.*?)\n          resources", manifest, re.S)]
    text = next(text for text in texts if f'"type": "{job}"' in text)
    cluster, name, index = tf_config({"TF_CONFIG": text.replace("$(TASK_INDEX)", "1")})
    assert (name, index) == (job, 1) and cluster.task_address(job, index) == f"train-{job}-1.train:2222"
    assert cluster.num_tasks("ps") == int(re.search(r"replicas: (\d+)", manifest)[1])
    assert cluster.num_tasks("worker") == int(re.search(r"completions: (\d+)", manifest)[1]) == int(re.search(r"parallelism: (\d+)", manifest)[1])


class _Terminal(io.StringIO):
    def isatty(self):
        return True


def test_colours_and_the_status_line(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal = _Terminal()
    printer = Printer(terminal, terminal, [PS, OTHER])
    printer.status("1/1 up")
    printer.line(OTHER, "out", "hello")
    printer.close()
    assert terminal.getvalue() == "\r\x1b[K1/1 up\r\x1b[K\x1b[33mworker 1 |\x1b[0m hello\n1/1 up\r\x1b[K"
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_color(terminal) and wants_color(io.StringIO(), "always") and not wants_color(io.StringIO())


def test_plain_lines():
    out, err = io.StringIO(), io.StringIO()
    printer = Printer(out, err, [PS, OTHER])
    printer.status("never shown")
    printer.line(PS, "out", "a")
    printer.note("b")
    assert out.getvalue() == "ps 0     | a\n" and err.getvalue() == "penstock: b\n"


def test_a_line_without_end_is_cut(monkeypatch):
    monkeypatch.setattr(launch_logs, "_LONGEST", 4)
    lines = Lines()
    assert lines.feed(b"abc") == [] and lines.feed(b"de") == ["abcde"] and lines.feed(b"\xff\n") == ["\ufffd"]
