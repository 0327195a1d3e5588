"""Resolvers of clusters that Slurm, Kubernetes or Google's Compute Engine manage, with stand-ins for these services."""
from __future__ import annotations

import os
from types import SimpleNamespace as Thing

import pytest

import penstock as tf

pytestmark = pytest.mark.graph
resolvers = tf.contrib.cluster_resolver


@pytest.fixture
def slurm(monkeypatch, tmp_path):
    """Two nodes, and a function that starts a resolver in the task with a rank."""
    tool = tmp_path / "scontrol"
    tool.write_text("#!/bin/sh\necho node-1\necho node-2\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # so that it is restored
    for name in ("OMPI_COMM_WORLD_RANK", "SLURM_NTASKS_PER_NODE"):
        monkeypatch.delenv(name, raising=False)

    def start(rank, **settings):
        monkeypatch.setenv("SLURM_PROCID", str(rank))
        monkeypatch.setenv("SLURM_NTASKS", "4")
        return resolvers.SlurmClusterResolver({"worker": 3, "ps": 1}, **settings)
    return start


def test_tasks_of_slurm_fill_the_nodes(slurm):
    resolver = slurm(2, tasks_per_node=2, gpus_per_node=4, gpus_per_task=2, port_base=7000)
    assert resolver.get_task_info() == (None, None) and resolver.master() == ""
    assert resolver.cluster_spec().as_dict() == {"ps": ["node-1:7000"], "worker": ["node-1:7001", "node-2:7000", "node-2:7001"]}
    assert resolver.get_task_info() == ("worker", 1) and resolver.master() == "grpc://node-2:7000"
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0,1" and resolver.num_accelerators() == {"GPU": 4}
    assert resolver.master("ps", 0, rpc_layer="abc") == "abc://node-1:7000"


def test_what_slurm_does_not_have(slurm, monkeypatch):
    with pytest.raises(RuntimeError, match="Neither `tasks_per_node` or SLURM_NTASKS_PER_NODE"):
        slurm(0)
    monkeypatch.setenv("SLURM_NTASKS_PER_NODE", "2")
    with pytest.raises(RuntimeError, match="more GPUs per node then available"):
        slurm(0, gpus_per_node=1)
    with pytest.raises(RuntimeError, match="more tasks then assigned"):
        resolvers.SlurmClusterResolver({"worker": 5}, gpus_per_node=2)


def pod(name, address, phase="Running"):
    return Thing(metadata=Thing(name=name), status=Thing(phase=phase, host_ip=address))


def test_pods_of_kubernetes():
    pods = {"job=w": [pod("w-1", "10.0.0.2"), pod("w-0", "10.0.0.1")], "job=p": [pod("p-0", "10.0.0.3")]}
    client = Thing(list_pod_for_all_namespaces=lambda label_selector: Thing(items=pods[label_selector]))
    resolver = resolvers.KubernetesClusterResolver({"worker": ["job=w"], "ps": ["job=p"]}, override_client=client)
    assert resolver.cluster_spec().as_dict() == {"ps": ["10.0.0.3:8470"], "worker": ["10.0.0.1:8470", "10.0.0.2:8470"]}
    assert resolver.master() == "" and resolver.master("worker", 1) == "grpc://10.0.0.2:8470"
    pods["job=p"][0].status.phase = "Pending"
    with pytest.raises(RuntimeError, match='Pod "p-0" is not running; phase: "Pending"'):
        resolver.cluster_spec()


def test_machines_of_compute_engine():
    """Two pages of machines, in another order than that of their addresses."""
    pages = [{"items": [{"instance": "https://a/b/two"}]}, {"items": [{"instance": "https://a/b/one"}]}]
    addresses = {"one": "10.0.0.1", "two": "10.0.0.2"}

    def request(answer):
        return Thing(execute=lambda: answer)

    groups = Thing(listInstances=lambda **settings: request(pages[0]),
                   listInstances_next=lambda previous_request, previous_response: request(pages[1]) if previous_response is pages[0] else None)
    machines = Thing(get=lambda project, zone, instance: request({"networkInterfaces": [{"networkIP": addresses[instance]}]}))
    service = Thing(instanceGroups=lambda: groups, instances=lambda: machines)
    resolver = resolvers.GCEClusterResolver("p", "z", "g", 8470, task_type="worker", task_id=1, service=service)
    assert resolver.cluster_spec().as_dict() == {"worker": ["10.0.0.1:8470", "10.0.0.2:8470"]}
    assert resolver.master() == "grpc://10.0.0.2:8470" and resolver.master("worker", 0, "") == "grpc://10.0.0.1:8470"
    with pytest.raises(RuntimeError, match="cannot reset the task_type"):
        resolver.task_type = "ps"


@pytest.mark.parametrize("make, package", [(lambda: resolvers.KubernetesClusterResolver(), "kubernetes"),
                                           (lambda: resolvers.GCEClusterResolver("p", "z", "g", 1), "googleapiclient")])
def test_a_client_that_is_not_installed(make, package, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(ImportError, match=f"{package}.*must be installed"):
        make()
