"""Clusters: tasks in many processes and machines that run one graph together.

    cluster_spec   which tasks there are           server         a task in this process: tf.train.Server
    master         sessions, plans, steps          client         tf.Session("grpc://...")
    worker         registered parts, their steps   service        messages -> master and worker
    parts          a program cut by task           transport_*    messages over gRPC, or inside a process
    step_state     a step as a state machine       security       the cluster's secret
    allreduce      sums over all workers           administration status, tasks that moved
    launch_*       starts tasks on this machine    ray            starts tasks on many machines

The protocol (master, worker, steps, step_state) knows no sockets; ``peers.Transport`` is all that it sees of a network.
"""
from __future__ import annotations

from typing import Any

from penstock.session import backends


def _grpc() -> Any:
    from penstock.distributed.client import Grpc  # gRPC is imported by those who use it

    return Grpc()


backends.register("grpc", _grpc)
