"""Files that describe machines, and clusters of such machines."""
from __future__ import annotations

import json

import pytest

from penstock.distributed.cluster_spec import task_name
from penstock.simulate.job import Cluster, Simulation
from penstock.simulate.machines import MachineSpec, read_machines, tasks_of
from penstock.simulate.network import NetworkSpeed
from penstock.simulate.report import describe, too_large
from penstock.simulate.ring import all_reduce
from simulate.test_job import FREE, MEGABYTE, PS, USUAL, dense

pytestmark = pytest.mark.graph
NETWORK = NetworkSpeed(1e9, 1e-5)


def read(*entries):
    return read_machines(json.dumps({"machines": entries}), 16.0, NETWORK, 0.0)


def test_a_file():
    machines = read({"tasks": {"ps": 2}, "cores": 32, "network": "80Gbit,20us", "memory": "256GB"}, {"count": 3, "tasks": {"worker": 2}})
    pairs = [(task_name("worker", 2 * n), task_name("worker", 2 * n + 1)) for n in range(3)]
    assert [machine.tasks for machine in machines] == [(PS[0], PS[1]), *pairs]
    assert machines[0] == MachineSpec((PS[0], PS[1]), 32.0, NetworkSpeed.parse("80Gbit,20us"), 256e9)
    assert machines[1].cores == 16.0 and machines[1].network == NETWORK
    assert (tasks_of(machines, "ps"), tasks_of(machines, "worker")) == (2, 6)


@pytest.mark.parametrize("text", ["", "[]", "{}", json.dumps({"machines": [{}]}), json.dumps({"machines": [{"tasks": {"ps": 0}}]}),
                                  json.dumps({"machines": [{"tasks": {"gpu": 1}}]}), json.dumps({"machines": [{"tasks": {"ps": 1}, "ram": 1}]}),
                                  json.dumps({"machines": [{"tasks": {"ps": 1}, "cores": 0}]}),
                                  json.dumps({"machines": [{"tasks": {"ps": 1}, "network": "fast"}]}),
                                  json.dumps({"machines": [{"tasks": {"ps": 1}, "network": 5}]}),
                                  json.dumps({"machines": [{"tasks": {"ps": 1}, "cores": True}]}),
                                  json.dumps({"machines": [{"tasks": {"ps": 1}, "cores": 1e300}]}),
                                  json.dumps({"machines": [{"tasks": {"ps": 1}, "cores": [8]}]}),
                                  json.dumps({"machines": [{"count": 10**9, "tasks": {"worker": 1}}]})])
def test_what_is_not_such_a_file(text):
    with pytest.raises(ValueError, match="file of machines"):
        read_machines(text, 16.0, NETWORK, 0.0)


def test_a_faster_link_of_the_parameter_servers_machine_helps():
    def rate(network):
        machines = tuple(read({"tasks": {"ps": 1}, "network": network}, {"count": 8, "tasks": {"worker": 1}}))
        return Simulation(dense(), FREE, Cluster(8, network=NETWORK, machines=machines)).run(10).rate

    assert rate("80Gbit,10us") > 3 * rate("8Gbit,10us")


def test_tasks_of_one_machine_share_its_memory_and_need_no_link():
    machines = tuple(read({"tasks": {"ps": 2, "worker": 1}, "memory": "1.5MB"}))
    assert "ps 0, ps 1, worker 0 would hold 2.0 MB" in too_large(dense(2), 0.0, machines)
    cluster = Cluster(1, machines=machines)
    result = Simulation(dense(2), USUAL, cluster).run(5)
    assert set(result.busy_links.values()) == {0.0} and "on 1 machines" in describe(dense(2), cluster, result)


def test_all_reduce_sends_each_gradient_about_twice_whatever_the_number_of_workers():
    for workers in (2, 5):
        simulation = Simulation(all_reduce(dense(2), workers), FREE, Cluster(workers, network=NETWORK))
        result = simulation.run(8, warm=1)
        expected = 2 * (workers - 1) / workers * 2 * MEGABYTE  # bytes per step of a worker, which has a gigabyte per second
        assert result.quantile(0.5) >= expected / 1e9
        sent = sum(result.busy_links[f"worker {index} out"] for index in range(workers)) * 1e9 * result.seconds
        assert sent / len(result.step_times) == pytest.approx(expected, rel=0.1)


def test_all_reduce_has_no_parameter_servers():
    profile = all_reduce(dense(2), 4)
    assert profile.ps == 0 and profile.variables == {task_name("worker", 0): {"v": MEGABYTE}}
    assert Simulation(all_reduce(dense(1), 1), USUAL, Cluster(1)).run(3).rate > 0
    with pytest.raises(ValueError, match="wait for each other"):
        all_reduce(profile, 4)
