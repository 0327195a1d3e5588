"""Measures what messages cost on this machine (``costs.Costs``): parameter servers and a worker, processes that run steps which differ in one thing.

    python -m penstock.simulate.calibration [network]        a worker's process, which starts the parameter servers, prints the costs as JSON and ends
    python -m penstock.simulate.calibration crowd TARGETS NUMBER [network]       a further worker of these parameter servers, which runs the steps
                                                                                 whose names it reads until its standard input ends

With "network" they talk as tasks on several machines do. There are two parameter servers, of which every step uses both alike: the second task of a
step costs a third more than the only one, as answers come while others are read, and a third one costs what the second does. What a crowd costs is
measured in a crowd of the same kind: further workers of the parameter servers fill all cores with the step that is measured. Other programs would not
do. They use the caches more, and do not show what becomes cheaper: no core goes idle in between and has to be woken, and a parameter server reads
several messages at a time.

Seconds are those that processes spent on a core, so that a busy machine does not matter much; only the latency is a time that passed.
"""
from __future__ import annotations

import dataclasses
import json
import math
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
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
from penstock.platform.cpus import available_cpus, shared_cache_bytes
from penstock.session.session import Session
from penstock.simulate.costs import Costs
from penstock.variables.initialization import global_variables_initializer
from penstock.variables.variable import Variable

_SERVERS = 2
_PS = [f"/job:ps/task:{index}" for index in range(_SERVERS)]
_TENSORS = 16
_TURNS = 8
_FLOATS = 1 << 20  # of a large tensor: 4 MB, which no core's own cache holds
_SECONDS = 0.1  # per step that is measured
_ROUNDS = 5  # of which the median counts
_OTHERS = 2  # workers of a crowd, per core
_CROWDED_SECONDS = 0.3
_COLDEST = 6.0  # times as long as from the cache: what memory takes at most
_SETTLED = 0.3  # seconds until a crowd does what it was told
_SERVE = "import sys; from penstock.simulate.calibration import serve; serve(*sys.argv[1:])"
NETWORK = "network"  # arguments: no shared memory,
CROWD = "crowd"  # and one of those beside which another measures
_REST = "rest"  # what a crowd is told in between
_CROWDED = ("small update", "large update")
_OF_ALL = ("one", "many", "large", "small update", "large update")  # steps that use each of the parameter servers


class _Spent(NamedTuple):
    """Seconds per step."""

    worker: float  # of a core
    ps: float  # of one of them
    wall: float
    spread: float  # of the time that passed: the standard deviation of its logarithm


def measure(patience: float = 300.0) -> Costs:
    """The costs of this machine, measured by processes of their own: with shared memory, and without."""
    return dataclasses.replace(measure_local(patience), network=Costs.from_json(_measure_costs(patience, NETWORK)))


def measure_local(patience: float = 300.0) -> Costs:
    """The costs between processes of this machine, which share memory."""
    return Costs.from_json(_measure_costs(patience))


def _measure_costs(patience: float, *arguments: str) -> str:
    result = subprocess.run([sys.executable, "-m", "penstock.simulate.calibration", *arguments], capture_output=True, text=True, timeout=patience,
                            check=False)
    if result.returncode:
        raise RuntimeError(f"the calibration failed:\n{result.stderr[-2000:]}")
    return result.stdout


def serve(index: str, *arguments: str) -> None:
    """A parameter server, until its standard input ends."""
    unix_sockets.ENABLED &= NETWORK not in arguments
    server = Server({"ps": {int(index): "localhost:0"}, "worker": ["localhost:0"]}, "ps", int(index))
    print(server.target, flush=True)
    sys.stdin.read()
    server.stop()


def main(arguments: list[str]) -> int:
    """Measures and prints; or runs steps beside another that does."""
    unix_sockets.ENABLED &= NETWORK not in arguments
    if CROWD in arguments:
        _run_as_told(*arguments[1:3])
        return 0
    servers = [subprocess.Popen([sys.executable, "-c", _SERVE, str(index), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
               for index in range(_SERVERS)]
    try:
        targets = [_first_line(server) for server in servers]
        with _worker(targets, 0) as (session, steps):
            session.run(global_variables_initializer())
            print(_costs(_experiments(session, steps, targets, arguments)).to_json())
    finally:
        for server in servers:
            server.kill()
            server.wait()
    return 0


def _first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@contextmanager
def _worker(targets: list[str], number: int) -> Iterator[tuple[Session, dict[str, Operation]]]:
    """A session of a worker of the parameter servers, and its steps."""
    server = Server({"ps": [target.partition("://")[2] for target in targets], "worker": {number: "localhost:0"}}, "worker", number)
    with Graph().as_default():
        steps = _steps(f"/job:worker/task:{number}")
        with Session(server.target) as session:
            yield session, steps
    server.stop()


def _steps(worker: str) -> dict[str, Operation]:
    """Steps whose times tell what messages cost: one that stays on the worker, and those in which it gets one or many tensors of each parameter
    server; in which a tensor goes to and fro; in which a small or a large one is used at both ends; and the same use without a message."""
    small: list[list[Variable]] = []
    large: list[Variable] = []
    for task in _PS:
        with device(task):
            small.append([Variable(zeros([])) for _ in range(_TENSORS + 1)])
            large.append(Variable(zeros([_FLOATS])))
    first = [variables[0] for variables in small]
    with device(worker):
        here, there = Variable(zeros([_FLOATS])), Variable(zeros([_FLOATS]))
        one, other = Variable(zeros([])), Variable(zeros([]))
        scaled: Any = here * 0.5  # type: ignore[operator]
        halved: Any = one * 0.5  # type: ignore[operator]
        return {"alone": constant(1.0).op, "one": _take(first), "many": _take([each for some in small for each in some]), "large": _take(large),
                "turns": _turns(first[0], worker), "small update": _update(first), "large update": _update(large),
                "scale": scaled.op, "subtract": here.assign_sub(there).op, "small scale": halved.op,
                "small subtract": one.assign_sub(other).op}


def _experiments(session: Session, steps: dict[str, Operation], targets: list[str], arguments: list[str]) -> dict[str, _Spent]:
    ps = [connection(target) for target in targets]
    rounds: list[dict[str, _Spent]] = []
    with _crowd(targets, arguments) as tell:
        for _ in range(_ROUNDS):  # all in turn, as the speed of a virtual machine changes
            tell(_REST)
            rounds.append({name: _spent(session, step, ps, _SECONDS) for name, step in steps.items()})
            for name in _CROWDED:
                tell(name)
                rounds[-1][f"crowded {name}"] = _spent(session, steps[name], ps, _CROWDED_SECONDS)
    return _usual(rounds)


def _usual(rounds: list[dict[str, _Spent]]) -> dict[str, _Spent]:
    return {name: _Spent(*(statistics.median(column) for column in zip(*(each[name] for each in rounds)))) for name in rounds[0]}


def _take(variables: list[Variable]) -> Operation:
    """A step that has a worker get variables, and do nothing with them."""
    return group(*(identity(variable) for variable in variables))


def _update(variables: list[Variable]) -> Operation:
    """A step in which a worker uses variables, and the parameter servers what the worker sends."""
    return group(*(variable.assign_sub(variable * 0.5).op for variable in variables))  # type: ignore[operator]


def _turns(variable: Variable, worker: str) -> Operation:
    """A step in which a tensor goes to and fro."""
    value: Any = variable
    for _ in range(_TURNS):
        for task in (worker, _PS[0]):
            with device(task):
                value = identity(value)
    return identity(value).op


@contextmanager
def _crowd(targets: list[str], arguments: list[str]) -> Iterator[Callable[[str], None]]:
    """Further workers of the parameter servers; yields what has them all run a step."""
    command = [sys.executable, "-m", "penstock.simulate.calibration", CROWD, ",".join(targets)]
    others = [subprocess.Popen([*command, str(number + 1), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
              for number in range(_OTHERS * available_cpus())]

    def tell(name: str) -> None:
        for other in others:
            assert other.stdin is not None
            print(name, file=other.stdin, flush=True)
        time.sleep(_SETTLED)

    try:
        for other in others:
            _first_line(other)  # it is ready
        yield tell
    finally:
        for other in others:
            assert other.stdin is not None
            other.stdin.close()  # it ends
        for other in others:
            other.wait()


def _run_as_told(targets: str, number: str) -> None:
    """A further worker: runs the step whose name was read last, or rests, until there is nothing to be read any more."""
    with _worker(targets.split(","), int(number)) as (session, steps):
        session.run(global_variables_initializer())  # the parameter servers' variables, too: their values do not matter
        _run_told_steps(session, steps)


def _run_told_steps(session: Session, steps: dict[str, Operation]) -> None:
    told: list[Operation] = []
    is_told, is_over = threading.Event(), threading.Event()

    def listen() -> None:
        for line in sys.stdin:
            name = line.strip()
            told[:] = [] if name == _REST else [steps[name]]
            (is_told.clear if name == _REST else is_told.set)()
        is_over.set()
        is_told.set()

    session.run(steps[_CROWDED[0]])
    print("ready", flush=True)
    threading.Thread(target=listen, daemon=True).start()
    while not is_over.is_set():
        is_told.wait()
        for step in list(told):
            session.run(step)


def _spent(session: Session, step: Operation, ps: list[Connection], seconds: float) -> _Spent:
    """What a step takes in so many seconds of steps; parameter servers also run parts of others."""
    for _ in range(20):
        session.run(step)
    times: list[float] = []
    (before, done), here, begin = _cpu(ps), time.process_time(), time.perf_counter()
    last = begin
    while last - begin < seconds:
        session.run(step)
        times.append(time.perf_counter() - last)
        last += times[-1]
    wall, here, steps = last - begin, time.process_time() - here, len(times)
    after, now = _cpu(ps)
    return _Spent(here / steps, (after - before) / max(now - done, steps), wall / steps, _spread(times))


def _spread(times: list[float]) -> float:
    """The standard deviation of the logarithm, by two quantiles: a few very long times do not matter."""
    ordered = sorted(times)
    low, high = (ordered[int(share * (len(ordered) - 1))] for share in (0.16, 0.84))
    return math.log(high / low) / 2


def _cpu(servers: list[Connection]) -> tuple[float, int]:
    """The seconds of a core that they have used, and the parts of steps that they have run."""
    replies: list[Any] = [json.loads(bytes(ps.call(Message("Describe")).blobs[0]))[0] for ps in servers]
    return sum(float(reply["cpu"]) for reply in replies), sum(int(reply["steps"]) for reply in replies)


def _costs(measured: dict[str, _Spent]) -> Costs:
    spent = _per_server(measured)
    alone, one, many, turns, update, crowded = (spent[name] for name in ("alone", "one", "many", "turns", "small update", "crowded small update"))
    send, receive = (many.ps - one.ps) / _TENSORS, (many.worker - one.worker) / _TENSORS
    kernels = spent["small scale"].worker + spent["small subtract"].worker - 2 * alone.worker
    # Of a tensor by itself, at both ends: an update has two more than "one", there and back. "turns" has more of them, but they come in so close
    # a succession that no thread has gone to sleep in between.
    crossing = (update.ps + update.worker - one.ps - one.worker - kernels) / 2
    message = max(crossing - send - receive, 0.0) / 2
    idle = turns.wall - turns.worker - turns.ps
    cache = float(shared_cache_bytes())
    send_byte, receive_byte = _bytes(spent, alone)
    cold = _cold_bytes(spent, cache)
    warm = 1.0 + (cold - 1.0) * _share_replaced(0, cache)  # times as long as in the cache, when the bytes were measured
    return Costs(step=alone.worker, order=max(one.worker - alone.worker - receive - message, 0.0), part=max(one.ps - send - message, 0.0),
                 message=message, send=send, receive=receive, send_byte=send_byte / warm, receive_byte=receive_byte / warm,
                 latency=max(idle / (2 * _TURNS + 2), 0.0), crowded=measured["crowded small update"].worker / measured["small update"].worker,
                 queued=min(crowded.ps / update.ps, 1.0), cold_bytes=cold, cache_bytes=cache,
                 spread=alone.spread)


def _per_server(measured: dict[str, _Spent]) -> dict[str, _Spent]:
    """The same as if there were one parameter server: what the worker does beyond a step of its own is done for each of them."""
    alone = measured["alone"].worker
    return {name: step._replace(worker=alone + (step.worker - alone) / _SERVERS) if name.removeprefix("crowded ") in _OF_ALL else step
            for name, step in measured.items()}


def _bytes(spent: dict[str, _Spent], alone: _Spent) -> tuple[float, float]:
    """What a byte costs to send, and to receive and use. Both tasks of an update send and receive the same bytes."""
    size = 4 * _FLOATS
    small, large, one = spent["small update"], spent["large update"], spent["one"]
    kernels = spent["scale"].worker + spent["subtract"].worker - 2 * alone.worker  # in a process that has its arrays for itself
    both = max(large.worker + large.ps - small.worker - small.ps - kernels, 0.0) / (2 * size)
    send = min(max(spent["large"].ps - one.ps, 0.0) / size, both)
    return send, both - send


def _cold_bytes(spent: dict[str, _Spent], cache: float) -> float:
    """How many times as long bytes and kernels take if nothing is in the cache: from an update by one worker, of whose arrays much is there, and by a
    crowd, of whose little is."""
    quiet, crowded = (sum(spent[f"{kind}large update"][:2]) - sum(spent[f"{kind}small update"][:2]) for kind in ("", "crowded "))
    ratio = max(crowded / quiet, 1.0) if quiet > 0.0 else 1.0
    one, many = _share_replaced(0, cache), _share_replaced(_OTHERS * available_cpus(), cache)
    return 1.0 + min((ratio - 1.0) / max(many - ratio * one, 1e-9), _COLDEST - 1.0) if cache else 1.0


def _share_replaced(others: int, cache: float) -> float:
    """Of the cache, between two large updates of a worker beside so many others: all of them send and receive the tensor of each parameter server."""
    moved = 2 * _SERVERS * 4 * _FLOATS * (1 + others)
    return moved / (moved + cache)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
