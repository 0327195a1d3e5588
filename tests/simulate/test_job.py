"""Jobs on simulated clusters. ``data/sync_scalar.json`` was written by ``penstock simulate --save``: the model "scalar" of ``benchmarks/cluster.py``
with SyncReplicasOptimizer, 2 ps, 4 workers."""
from __future__ import annotations

import dataclasses
import time
from pathlib import Path

import pytest

from penstock.distributed.cluster_spec import task_name
from penstock.simulate.capture import CacheUser
from penstock.simulate.costs import Costs
from penstock.simulate.job import Cluster, Simulation, readable
from penstock.simulate.modes import asynchronous, synchronous
from penstock.simulate.network import NetworkSpeed
from penstock.simulate.profile import WORKER, JobProfile, Meeting, StepProfile, TaskPart, TensorMessage, WorkBlock
from penstock.simulate.report import describe, too_large, uneven, unshared, what_would_help
from penstock.simulate.ring import all_reduce
from penstock.simulate.stragglers import Straggling
from penstock.simulate.work_blocks import Measured, held_part, serial_part

pytestmark = pytest.mark.graph

FREE = Costs(step=0.0, order=0.0, part=0.0, message=0.0, send=0.0, receive=0.0, send_byte=0.0, receive_byte=0.0, latency=0.0, crowded=1.0)
USUAL = dataclasses.replace(FREE, step=1e-4, order=2e-4, part=1.5e-4, message=5e-5, send=1e-5, receive=1e-5, send_byte=1e-10, receive_byte=2e-11)
PS = [task_name("ps", index) for index in range(2)]
MEGABYTE = 1_000_000
COLD = dataclasses.replace(FREE, cold_bytes=3.0, cache_bytes=4 * MEGABYTE)


def dense(servers: int = 1, size: int = MEGABYTE, compute: float = 0.0) -> JobProfile:
    """All parameters go to the worker, as many gradients come back and are applied."""
    worker, parts = TaskPart(WORKER, [WorkBlock(native=compute)]), []
    for index in range(servers):
        read = WorkBlock(sends=[TensorMessage(WORKER, 1, size, 2 * index)])
        parts.append(TaskPart(PS[index], [read, WorkBlock(receives=[2 * index + 1], needs=[0], python=1e-4)]))
        worker.blocks[0].receives.append(2 * index)
        worker.blocks[0].sends.append(TensorMessage(PS[index], 1, size, 2 * index + 1))
    return JobProfile("dense", servers, 1, StepProfile([worker, *parts]), variables={PS[index]: {"v": size} for index in range(servers)})


def run(profile: JobProfile, workers: int = 1, costs: Costs = FREE, steps: int = 30, **cluster):
    return Simulation(profile, costs, Cluster(workers, **cluster)).run(steps)


def test_a_step_takes_what_its_parts_take():
    result = run(dense(compute=0.010), cores=1, network=NetworkSpeed(1e9, 0.001))
    order, there, back, compute = 0.001 + 300 / 1e9, 0.001 + 1_000_300 / 1e9, 0.001 + 1_000_300 / 1e9, 0.010
    reply = 0.001 + 300 / 1e9
    assert result.quantile(0.5) == pytest.approx(order + there + compute + back + 1e-4 + reply)
    assert result.rate == pytest.approx(1 / result.quantile(0.5))


def test_native_code_is_shared_out_among_cores():
    slow, fast = (run(dense(compute=0.1), cores=cores).quantile(0.5) for cores in (1, 4))
    assert slow - fast == pytest.approx(0.075)


def test_the_link_of_a_parameter_server_is_the_limit():
    result = run(dense(), workers=16, network=NetworkSpeed(1e9, 1e-5))
    assert 900 < result.rate <= 1000  # a megabyte each way per step, a gigabyte per second
    assert max(result.busy_links, key=result.busy_links.get) in ("ps 0 in", "ps 0 out")
    assert result.busy_links["ps 0 out"] == pytest.approx(result.rate / 1000, rel=0.05)


def test_a_second_parameter_server_helps_where_the_first_is_the_limit():
    one, two = (run(dense(servers, MEGABYTE // servers), workers=16, network=NetworkSpeed(1e9, 1e-5)).rate for servers in (1, 2))
    assert two / one == pytest.approx(2.0, rel=0.1)


def test_on_one_machine_all_share_its_cores():
    rates = [run(dense(size=4), workers, USUAL, cores=2, one_machine=True).rate for workers in (1, 2, 4, 8)]
    assert rates[1] > 1.3 * rates[0]
    assert rates[3] == pytest.approx(rates[2], rel=0.05)  # both cores are busy


@pytest.fixture
def recorded() -> JobProfile:
    return JobProfile.from_json((Path(__file__).parent / "data" / "sync_scalar.json").read_text())


def test_a_profile_comes_back_from_its_text(recorded):
    assert JobProfile.from_json(recorded.to_json()) == recorded


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"program": "p"}', "null"])
def test_what_is_not_a_profile(text):
    with pytest.raises(ValueError, match="profile of a job"):
        JobProfile.from_json(text)


def test_synchronous_workers_wait_for_each_other(recorded):
    simulation = Simulation(recorded, USUAL, Cluster(4))
    result = simulation.run(50)
    assert result.dropped == 4  # the tokens of the beginning are from before the first update
    assert simulation.places.time == pytest.approx(55, abs=2)  # one update per round of four steps


def test_a_late_worker_delays_all_unless_there_is_a_backup():
    late = Straggling("pareto", 0.05, 1.2)
    plain = Simulation(synchronous(dense(), 8), USUAL, Cluster(8, straggling=late), seed=3).run(60)
    backed = Simulation(synchronous(dense(), 8, 2), USUAL, Cluster(8, straggling=late), seed=3)
    result = backed.run(60)
    assert plain.dropped == 0
    assert result.dropped > 0  # gradients that came too late for their update
    updates_per_second = backed.places.time / backed.clock.now
    assert updates_per_second > 1.3 * plain.rate / 8


def test_what_cannot_be_made_synchronous(recorded):
    with pytest.raises(ValueError, match="wait for each other already"):
        synchronous(recorded, 4)
    with pytest.raises(ValueError, match="cannot be backups"):
        synchronous(dense(), 4, 4)
    with pytest.raises(ValueError, match="--ps"):
        synchronous(JobProfile("alone", 0, 1, StepProfile([TaskPart(WORKER, [WorkBlock(python=1.0)])])), 4)


def test_equal_seeds_give_equal_runs():
    late = Straggling("exponential", 0.01)
    first, second, third = (Simulation(dense(), USUAL, Cluster(4, straggling=late), seed=seed).run(20).step_times for seed in (1, 1, 2))
    assert first == second != third


def test_many_workers_take_little_time():
    result = run(synchronous(dense(2), 200), 200, USUAL, steps=5)
    assert len(result.step_times) == 1000


def test_the_report(recorded):
    cluster = Cluster(4)
    text = describe(recorded, cluster, Simulation(recorded, USUAL, cluster).run(10))
    for words in ("4 workers, 2 ps", "steps per second", "p10", "busiest task", "busiest link", "memory             ps 0"):
        assert words in text


def test_a_busy_interpreter_is_told_however_many_cores_are_idle():
    cluster = Cluster(16, cores=16)
    result = Simulation(dense(size=4), USUAL, cluster).run(20)
    assert result.busy_interpreters["ps 0"] == pytest.approx(1.0, abs=0.02) and result.busy_machines["ps 0"] == pytest.approx(1 / 16, abs=0.002)
    assert "busiest task       ps 0: 100% of the time of its interpreter, 6% of its cores" in describe(dense(), cluster, result)


def test_what_helps_is_told():
    profile, cluster = dense(), Cluster(16, network=NetworkSpeed(1e9, 1e-5))
    result = Simulation(profile, FREE, cluster).run(10)
    gains = {change.change: change.gain for change in what_would_help(profile, FREE, cluster, result, 10)}
    assert gains["twice the bandwidth"] > 0.8
    assert "twice the cores" not in gains


def test_a_job_that_does_not_fit_names_what_is_too_large():
    assert too_large(dense(), 2e6) == ""
    message = too_large(dense(), 0.5e6)
    assert "ps 0" in message and "'v'" in message and "partition" in message


def test_the_memory_of_steps():
    profile = dense(compute=0.01)
    profile.step.parts[0].memory, profile.step.parts[1].memory = 3 * MEGABYTE, MEGABYTE
    profile.step.parts[0].largest, profile.step.parts[0].largest_memory = "conv", 2 * MEGABYTE
    result = run(profile, workers=8, costs=USUAL)
    assert result.step_memory[task_name("worker", 5)] == 3 * MEGABYTE
    assert MEGABYTE < result.step_memory[PS[0]] <= 8 * MEGABYTE  # several workers' at the same time
    text = describe(profile, Cluster(8), result)
    assert "ps 0: 1.0 MB of variables, " in text and "each worker: 0 B of variables, 3.0 MB of steps" in text
    assert too_large(profile, 3e6) == "" and "worker 0 would hold 0 B of variables and need 3.0 MB for a step" in too_large(profile, 2.5e6)
    assert "'conv' takes the most, 2.0 MB: make batches smaller" in too_large(profile, 2.5e6)


def test_a_parameter_server_that_holds_nearly_everything():
    profile = dense(2)
    assert uneven(profile) == ""
    profile.variables[PS[0]]["embedding"] = 20 * MEGABYTE
    assert uneven(profile) == "ps 0 holds 95% of the bytes: partition 'embedding' (20.0 MB)"


def test_workers_that_share_nothing():
    alone = JobProfile("alone", 0, 1, StepProfile([TaskPart(WORKER, [WorkBlock(python=1e-3)])]))
    assert "each trains a model of its own: add --ps" in unshared(alone, Cluster(2))
    assert unshared(alone, Cluster(1)) == unshared(dense(), Cluster(2)) == unshared(all_reduce(dense(), 4), Cluster(4)) == ""


def test_a_cluster_that_is_too_slow_is_told_from_one_that_stands_still():
    slow = run(dense(), network=NetworkSpeed(1.0, 0.0))
    assert slow.ran_out and "3600 seconds of the cluster's time" in describe(dense(), Cluster(1), slow)
    profile = dense()
    profile.step.parts[0].blocks[0].meetings.append(Meeting("take", f"{PS[0]} gradients"))
    still = run(profile)
    assert not still.ran_out and "wait for each other forever" in describe(profile, Cluster(1), still)


def test_names_of_tasks():
    assert readable(PS[1]) == "ps 1"


def test_what_threads_cannot_share_follows_from_two_times():
    assert serial_part(0.4, 0.25, 2) == pytest.approx(0.25)  # two threads could leave half
    assert serial_part(0.4, 0.19, 2) == 0.0 and serial_part(0.4, 0.5, 2) == 1.0  # measured times are not exact
    assert held_part(0.4, 0.45, 0.25, 2) == pytest.approx(0.5) and held_part(0.4, 0.39, 0.25, 2) == 0.0


def test_what_is_typical_is_in_the_middle():
    measured = Measured(seconds=[2.0, 1.0, 90.0], beside=[3.5, 3.0, 4.0], crowded=[5.0, 4.0, 6.0])
    assert measured.typical == 2.0 and measured.uncached == 1.5 and measured.typical_crowded == 5.0
    assert Measured(seconds=[2.0], beside=[1.0]).uncached == Measured(seconds=[2.0]).uncached == 0.0


def wait_until(holds):
    end = time.monotonic() + 30.0
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_the_cache_is_used_while_something_is_measured(monkeypatch):
    monkeypatch.setattr("penstock.simulate.capture.shared_cache_bytes", lambda: 1 << 20)
    user = CacheUser()
    with user:
        wait_until(lambda: user.pieces > 2)
    before = user.pieces
    with user:
        wait_until(lambda: user.pieces > before)
    before = user.pieces
    time.sleep(0.01)
    assert user.pieces == before


def test_bytes_take_longer_if_others_have_had_the_cache():
    costs = dataclasses.replace(FREE, send_byte=1e-9, receive_byte=1e-9, cold_bytes=3.0, cache_bytes=4 * MEGABYTE)
    alone, crowd = (run(dense(), workers=workers, costs=costs, cores=16, one_machine=True) for workers in (1, 4))
    assert alone.quantile(0.5) == pytest.approx(4 * 1e-3 * costs.slower(2 * MEGABYTE) + 1e-4)  # a step moves two megabytes,
    assert costs.slower(2 * MEGABYTE) == pytest.approx(1.0 + 2.0 / 3.0)                        # which replace a third of the cache
    assert 16 * crowd.busy_machines["the machine"] / crowd.rate > 1.3 * 16 * alone.busy_machines["the machine"] / alone.rate


@pytest.mark.parametrize("send, receive", [(2e-8, 1e-8), (1e-8, 2e-8)])
def test_the_first_tensors_are_read_while_others_are_written(send, receive):
    """As they go through shared memory one by one; small ones are collected."""
    profile = dense(size=10 * MEGABYTE)
    costs = dataclasses.replace(FREE, send_byte=send, receive_byte=receive)

    def seconds(tensors):
        for message in (message for part in profile.step.parts for block in part.blocks for message in block.sends):
            message.tensors = tensors
        return run(profile, costs=costs, cores=2, one_machine=True).quantile(0.5)

    write, read = 10 * MEGABYTE * send, 10 * MEGABYTE * receive
    assert seconds(1) == pytest.approx(2 * (write + read) + 1e-4)
    assert seconds(10) == pytest.approx(2 * (max(write, read) + min(write, read) / 10) + 1e-4)
    assert seconds(1000) == pytest.approx(2 * (write + read) + 1e-4)


def test_work_on_large_arrays_is_slower_only_beside_others():
    """It was measured behind the bytes that its own step moves."""
    profile = dense()
    profile.step.parts[0].blocks[0].moving = 0.01
    alone, crowd = (run(profile, workers, COLD, cores=16, one_machine=True).quantile(0.5) for workers in (1, 4))
    assert alone == pytest.approx(0.01 + 1e-4)
    assert crowd == pytest.approx(0.01 * COLD.slower_beside(4 * 2 * MEGABYTE, 2 * MEGABYTE) + 1e-4, rel=0.01) and crowd > 1.2 * alone


def test_native_code_loses_as_much_of_the_cache_as_others_use():
    profile = dense(size=4, compute=0.01)
    block = profile.step.parts[0].blocks[0]
    block.uncached, block.touched, block.serial = 0.006, 4 * MEGABYTE, 1.0
    alone, two, many = (run(profile, workers, COLD, cores=1000, one_machine=True).quantile(0.5) for workers in (1, 2, 8))
    assert alone == pytest.approx(0.0101)  # half of the cache is its own, the other half was never of use
    assert two == pytest.approx(0.0101 + 0.006 / 3, rel=0.01)  # two thirds of the cache are replaced in the place of a half
    assert many == pytest.approx(0.0101 + 0.006 * 7 / 9, rel=0.05)  # eight ninths


def test_asynchronous_is_what_does_not_wait():
    assert asynchronous(dense()).ps == 1
    with pytest.raises(ValueError, match="SyncReplicasOptimizer"):
        asynchronous(synchronous(dense(), 4))


def test_many_variables_on_one_server_are_to_be_placed_by_their_size():
    sizes = {PS[0]: {f"weights{index}": MEGABYTE for index in range(8)}, PS[1]: {f"bias{index}": 1000 for index in range(8)}}
    assert "ps 0 holds 100% of the bytes: place variables by their size" in uneven(dataclasses.replace(dense(servers=2), variables=sizes))
