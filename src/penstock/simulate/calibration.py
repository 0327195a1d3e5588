"""Measures what messages cost on this machine (``costs.Costs``): a parameter server and a worker, two processes, run steps that differ in one thing.

    python -m penstock.simulate.calibration [network]        a worker's process, which starts a parameter server, prints the costs as JSON and ends

With "network" the two talk as tasks on two machines do.

Seconds are those that processes spent on a core, so that a busy machine does not matter much; only the latency is a time that passed.
"""
from __future__ import annotations

import dataclasses
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from penstock.distributed import unix_sockets
from penstock.distributed.client import Connection, connection
from penstock.distributed.messages import Message
from penstock.distributed.server import Server
from penstock.graph.graph import Graph
from penstock.graph.node import Operation
from penstock.graph.scopes import device
from penstock.ops.array.fill import zeros
from penstock.ops.constant import constant, identity
from penstock.ops.flow.misc import group
from penstock.platform.cpus import available_cpus
from penstock.session.session import Session
from penstock.simulate.costs import Costs
from penstock.variables.initialization import global_variables_initializer
from penstock.variables.variable import Variable

_PS, _WORKER = "/job:ps/task:0", "/job:worker/task:0"
_TENSORS = 16
_TURNS = 8
_FLOATS = 1 << 20  # of a large tensor: 4 MB, which no core's own cache holds
_SECONDS = 0.1  # per step that is measured
_ROUNDS = 5  # of which the median counts
_CROWD = """
import json, numpy
data, array, other = [{str(i): [i] * 9} for i in range(300)], numpy.zeros(4 << 20, "f"), numpy.zeros(4 << 20, "f")
for _ in range(10**6):
    json.loads(json.dumps(data))
    array[:] = other
"""
_SERVE = "import sys; from penstock.simulate.calibration import serve; serve(*sys.argv[1:])"
NETWORK = "network"  # argument: no shared memory


class _Spent(NamedTuple):
    """Seconds per step."""

    worker: float  # of a core
    ps: float
    wall: float


def measure(patience: float = 120.0) -> Costs:
    """The costs of this machine, measured by processes of their own: with shared memory, and without."""
    local, network = (Costs.from_json(_measured(patience, *arguments)) for arguments in ((), (NETWORK,)))
    return dataclasses.replace(local, network=network)


def _measured(patience: float, *arguments: str) -> str:
    result = subprocess.run([sys.executable, "-m", "penstock.simulate.calibration", *arguments], capture_output=True, text=True, timeout=patience,
                            check=False)
    if result.returncode:
        raise RuntimeError(f"the calibration failed:\n{result.stderr[-2000:]}")
    return result.stdout


def serve(address: str, *arguments: str) -> None:
    """A parameter server, until its standard input ends."""
    unix_sockets.ENABLED &= NETWORK not in arguments
    server = Server({"ps": [address], "worker": ["localhost:0"]}, "ps", 0)
    print(server.target, flush=True)
    sys.stdin.read()
    server.stop()


def main(arguments: list[str]) -> int:
    """Measures and prints."""
    unix_sockets.ENABLED &= NETWORK not in arguments
    ps = subprocess.Popen([sys.executable, "-c", _SERVE, "localhost:0", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert ps.stdout is not None
        target = ps.stdout.readline().strip()
        server = Server({"ps": [target.partition("://")[2]], "worker": ["localhost:0"]}, "worker", 0)
        print(_costs(_experiments(server, connection(target))).to_json())
        server.stop()
    finally:
        ps.kill()
        ps.wait()
    return 0


def _experiments(server: Server, ps: Connection) -> dict[str, _Spent]:
    """What steps take: one that stays on the worker, and those in which it gets one or many tensors of the parameter server; in which a tensor goes
    to and fro; in which a small or a large one is used at both ends; and the same use of a large one without a message."""
    with Graph().as_default():
        with device(_PS):
            small = [Variable(zeros([])) for _ in range(_TENSORS + 1)]
            large = Variable(zeros([_FLOATS]))
        with device(_WORKER):
            here, there = Variable(zeros([_FLOATS])), Variable(zeros([_FLOATS]))
            steps = {"alone": constant(1.0).op, "one": _take(small[:1]), "many": _take(small), "large": _take([large]), "turns": _turns(small[0]),
                     "small update": _update(small[0]), "large update": _update(large),
                     "scale": (here * 0.5).op, "subtract": here.assign_sub(there).op}
        with Session(server.target) as session:
            session.run(global_variables_initializer())
            rounds = [{name: _spent(session, step, ps) for name, step in steps.items()} for _ in range(_ROUNDS)]
            with _crowd():
                names = ("turns", "small update", "large update")
                crowded = [{f"crowded {name}": _spent(session, steps[name], ps) for name in names} for _ in range(_ROUNDS)]
    return {**_usual(rounds), **_usual(crowded)}


def _usual(rounds: list[dict[str, _Spent]]) -> dict[str, _Spent]:
    return {name: _Spent(*(statistics.median(column) for column in zip(*(each[name] for each in rounds)))) for name in rounds[0]}


def _take(variables: list[Variable]) -> Operation:
    """A step that has a worker get variables, and do nothing with them."""
    with device(_WORKER):
        return group(*(identity(variable) for variable in variables))


def _update(variable: Variable) -> Operation:
    """A step in which a worker uses a variable, and the parameter server what the worker sends."""
    with device(_WORKER):
        change = variable * 0.5
    return variable.assign_sub(change).op


def _turns(variable: Variable) -> Operation:
    """A step in which a tensor goes to and fro."""
    value: Any = variable
    for _ in range(_TURNS):
        for task in (_WORKER, _PS):
            with device(task):
                value = identity(value)
    with device(_WORKER):
        return identity(value).op


@contextmanager
def _crowd() -> Iterator[None]:
    """Beside other processes that use all cores and, in turn with ours, their caches."""
    others = [subprocess.Popen([sys.executable, "-c", _CROWD]) for _ in range(2 * available_cpus())]
    try:
        time.sleep(0.5)  # they start
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def _spent(session: Session, step: Operation, ps: Connection) -> _Spent:
    for _ in range(20):
        session.run(step)
    steps, there, here, begin = 0, _cpu(ps), time.process_time(), time.perf_counter()
    while time.perf_counter() - begin < _SECONDS:
        session.run(step)
        steps += 1
    wall, here = time.perf_counter() - begin, time.process_time() - here
    return _Spent(here / steps, (_cpu(ps) - there) / steps, wall / steps)


def _cpu(ps: Connection) -> float:
    reply = ps.call(Message("Describe"))
    description: Any = json.loads(bytes(reply.blobs[0]))[0]
    return float(description["cpu"])


def _costs(spent: dict[str, _Spent]) -> Costs:
    alone, one, many, turns, crowded = (spent[name] for name in ("alone", "one", "many", "turns", "crowded turns"))
    send, receive = (many.ps - one.ps) / _TENSORS, (many.worker - one.worker) / _TENSORS
    crossing = (turns.ps - one.ps + turns.worker - one.worker) / (2 * _TURNS)  # of a tensor by itself, at both ends
    message = max(crossing - send - receive, 0.0) / 2
    idle = turns.wall - turns.worker - turns.ps
    send_byte, receive_byte = _bytes(spent, alone)
    return Costs(step=alone.worker, order=max(one.worker - alone.worker - receive - message, 0.0), part=max(one.ps - send - message, 0.0),
                 message=message, send=send, receive=receive, send_byte=send_byte, receive_byte=receive_byte,
                 latency=max(idle / (2 * _TURNS + 2), 0.0), cold=max((crowded.worker + crowded.ps) / (turns.worker + turns.ps), 1.0),
                 cold_bytes=_cold_bytes(spent))


def _bytes(spent: dict[str, _Spent], alone: _Spent) -> tuple[float, float]:
    """What a byte costs to send, and to receive and use. Both tasks of an update send and receive the same bytes."""
    size = 4 * _FLOATS
    small, large, one = spent["small update"], spent["large update"], spent["one"]
    kernels = spent["scale"].worker + spent["subtract"].worker - 2 * alone.worker  # in a process that has its arrays for itself
    both = max(large.worker + large.ps - small.worker - small.ps - kernels, 0.0) / (2 * size)
    send = min(max(spent["large"].ps - one.ps, 0.0) / size, both)
    return send, both - send


def _cold_bytes(spent: dict[str, _Spent]) -> float:
    """How much longer the bytes of an update, and its kernels, take in a crowd."""
    quiet, crowded = (sum(spent[f"{kind}large update"][:2]) - sum(spent[f"{kind}small update"][:2]) for kind in ("", "crowded "))
    return max(crowded / quiet, 1.0) if quiet > 0.0 else 1.0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
