"""Clusters: tasks in many processes and machines that run one graph together.

    cluster_spec   which tasks there are           server         a task in this process: tf.train.Server
    master         sessions, plans, steps          client         how a client reaches a server
    worker         registered parts, their steps   service        messages -> master and worker
    parts          a program cut by task           transports     how messages travel: gRPC, inside a process
    step_state     a step as a state machine       security       the cluster's secret
    allreduce      sums over all workers           administration status, tasks that moved
    launch_*       starts tasks on this machine    ray            starts tasks on many machines

The protocol (master, worker, steps, step_state) knows no sockets; ``peers.Transport`` is all that it sees of a network.
"""
from __future__ import annotations

import penstock.opencl  # noqa: F401 (registers the device kind)
