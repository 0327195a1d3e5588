"""Which kernels the compiler begins with before all calls of a region are known."""
from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.execute import region
from penstock.native.calls import Array, Buffer, Code, KernelCall
from penstock.native.config import config
from penstock.native.machine.background import background
from penstock.native.table import head_start
from penstock.native.table.call_table import CallTable


@pytest.fixture
def submitted(monkeypatch):
    """What the compiler's threads are asked for; they do not do it."""
    jobs: list[Any] = []
    monkeypatch.setattr(background, "submit", jobs.append)
    return jobs


def call_of(name: str, flops: int) -> KernelCall:
    array = Array(Buffer("arena", 4), np.dtype(np.float32), (1,), (4,))
    return KernelCall(Code(name, lambda: ""), [array], [b""], name, flops=flops)


def codes(jobs: list[Any]) -> list[str]:
    return [job.args[0].key for job in jobs]


def test_little_work_leaves_the_compiler_alone(submitted):
    watch = head_start.HeadStart(waits=False)
    for number in range(5):
        watch(call_of(f"kernel {number}", 1000))
    assert not submitted


def test_much_work_starts_it_with_all_kernels_so_far(submitted):
    watch = head_start.HeadStart(waits=False)
    watch(call_of("small", 1000))
    assert not submitted
    large = call_of("large", 10**9)
    watch(large)
    watch(large)  # again: it is asked for once
    assert codes(submitted) == ["small", "large"]
    watch(call_of("next", 1000))
    assert codes(submitted) == ["small", "large", "next"]


def test_a_run_that_waits_anyway_starts_it_at_once(submitted):
    head_start.HeadStart(waits=True)(call_of("small", 10))
    assert codes(submitted) == ["small"]


@pytest.mark.parametrize("mode", ["eager", "background"])
def test_a_step_starts_it_before_its_table_is_made(mode, submitted, monkeypatch):
    monkeypatch.setattr(config, "mode", mode)
    begun, collecting, made = [], [], region.Specialisation

    class Table(CallTable):
        def __init__(self, *args: Any) -> None:
            begun.append(len(submitted))
            super().__init__(*args)

    def watched(*args: Any) -> Any:
        collecting.append(gc.isenabled())
        return made(*args, make_table=Table)

    monkeypatch.setattr(region, "Specialisation", watched)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [1024, 1024])
        w = tf.Variable(tf.zeros([1024, 1024]))
        step = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.tanh(tf.matmul(x, w))))
        session.run(w.initializer)
        for noted in (begun, collecting, submitted):
            noted.clear()
        session.run(step, {x: np.ones([1024, 1024], np.float32)})
    assert len(begun) == 1 and begun[0] >= 2
    assert collecting == [False] and gc.isenabled()
