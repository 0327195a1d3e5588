"""What a server answers: each message goes to a method of its master or its worker, and comes back as a reply or an
error.

Whatever arrives, ``handle`` returns a reply: the fields of a message are checked here, at the border, and an error
never ends the server.
"""
from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Protocol

from google.protobuf.message import DecodeError
from tensorboard.compat.proto.cluster_pb2 import ClusterDef
from tensorboard.compat.proto.config_pb2 import ConfigProto
from tensorboard.compat.proto.graph_pb2 import GraphDef

from penstock import errors
from penstock.distributed import administration
from penstock.distributed.guest_clusters import GUEST
from penstock.distributed.master import Master
from penstock.distributed.master_session import MasterSession
from penstock.distributed.messages import MalformedMessage, Message, error_from, error_message
from penstock.distributed.peers import TENSOR, deliver_tensor, tensor_message
from penstock.distributed.probing import TaskProbe, checked_waits
from penstock.distributed.worker import RunOrder, Worker
from penstock.execute.threads import POOL

_log = logging.getLogger("tensorflow.server")


class Caller(Protocol):
    """Who sent a request, and how to answer; see ``link.Served``."""

    @property
    def connection(self) -> Any:
        """The same object for all that comes from there."""

    def part(self, message: Message) -> None:
        """Sends something before the reply."""

    def reply(self, message: Message) -> None:
        """Answers; only the first answer counts."""

    def on_gone(self, callback: Callable[[], None]) -> None:
        """Has ``callback`` called when the caller gives up or is lost before it is answered."""

    def on_lost(self, callback: Callable[[], None]) -> None:
        """Has ``callback`` called when the caller's connection ends, at any later time."""

    def on_more(self, callback: Callable[[Message], None]) -> None:
        """Has ``callback`` called with further messages of the caller."""


Method = Callable[[Message, Caller], "Message | None"]


class Service:
    """The methods of a server."""

    def __init__(self, master: Master, worker: Worker, stop: Callable[[], None]) -> None:
        self.master, self._worker, self._stop = master, worker, stop
        self._methods: dict[str, Method] = {
            "CreateSession": self._create_session, "ExtendSession": self._extend_session, "RunStep": self._run_step,
            "PartialRunSetup": self._partial_run_setup, "PartialRun": self._partial_run,
            "CloseSession": self._close_session, "ListDevices": self._list_devices, "ResetAll": self._reset_all, "Stop": self._stop_server,
            "GetStatus": self._get_status, "RegisterGraph": self._register_graph, "RunGraph": self._run_graph, "RecvTensors": self._recv_tensors,
            "AbortStep": self._abort_step, "EndSession": self._end_session, "Reset": self._reset,
            **administration.handlers(master, worker)}
        if master.guests is not None:
            self._methods |= {"JoinCluster": self._join_cluster, "LeaveCluster": self._leave_cluster}
        self._guests: dict[str, Service] = {}  # by cluster
        self._quick = {"RunGraph": self._start_graph, **{name: self._methods[name] for name in ("RecvTensors", "AbortStep", "GetStatus")}}

    def serve(self, message: Message, caller: Caller) -> None:
        """Answers a request, or sees to it that it will be, for a thread that must not wait: what may take long goes elsewhere."""
        if GUEST in message.fields:
            self._as_guest(message, caller, lambda service: service.serve(message, caller))
            return
        quick = self._quick.get(message.method)
        if quick is None or (message.method == "RunGraph" and not self._is_quick(message)):
            POOL.submit(lambda: self.handle(message, caller))
        else:
            self._answer(quick, message, caller)

    def _is_quick(self, message: Message) -> bool:
        try:
            return "probe" not in message.fields and self._worker.is_quick(_field(message, "handle", str), _order(message))
        except (MalformedMessage, KeyError):
            return False  # it will be refused

    def handle(self, message: Message, caller: Caller) -> None:
        """Answers a request, or sees to it that it will be."""
        if GUEST in message.fields:
            self._as_guest(message, caller, lambda service: service.handle(message, caller))
            return
        self._answer(self._methods.get(message.method), message, caller)

    def _as_guest(self, message: Message, caller: Caller, answer: Callable[[Service], None]) -> None:
        """Has a request answered by what this server is in the cluster of a session."""
        cluster = message.fields.pop(GUEST)
        if self.master.guests is None or type(cluster) is not str:
            caller.reply(error_message(errors.InvalidArgumentError(None, None, f"malformed {message.method}: there is no cluster {cluster!r} here")))
            return
        try:
            member = self.master.guests.member(cluster)
        except errors.AbortedError as error:
            caller.reply(error_message(error))
            return
        service = self._guests.get(cluster)
        if service is None:
            service = self._guests[cluster] = Service(Master(member.worker, member.peers), member.worker, self._stop)
        answer(service)

    def _answer(self, method: Method | None, message: Message, caller: Caller) -> None:
        reply = self._reply(method, message, caller)
        if reply is not None:
            caller.reply(reply)

    def _reply(self, method: Method | None, message: Message, caller: Caller) -> Message | None:
        if method is None:
            _log.warning("refused a message: there is no method %r", message.method[:80])
            return error_message(errors.UnimplementedError(None, None, f"there is no method {message.method!r}"))
        try:
            return method(message, caller)
        except errors.OpError as error:
            self._worker.activity.failed(message.method, error)
            return error_message(error)
        except (MalformedMessage, DecodeError, KeyError) as error:
            _log.warning("refused a malformed %s: %r", message.method, error)
            return error_message(errors.InvalidArgumentError(None, None, f"malformed {message.method}: {error!r}"))
        except Exception as error:  # a bug must not look like a lost task
            _log.exception("%s failed", message.method)
            return error_message(errors.InternalError(None, None, f"{type(error).__name__} in {message.method}: {error}"))

    # --- for clients -------------------------------------------------------------------------------------------------

    def _create_session(self, message: Message, caller: Caller) -> Message:
        handle = self.master.create_session(ConfigProto.FromString(_blob(message)))
        caller.on_lost(lambda: self.master.client_lost(handle))
        return Message("ok", {"session": handle, "task": self._worker.task})

    def _session(self, message: Message, caller: Caller) -> MasterSession:
        """The session of a request; its client, if it was lost, is back."""
        handle = _field(message, "session", str)
        session = self.master.session(handle)
        if session.client_lost:
            session.client_lost = 0.0
            caller.on_lost(lambda: self.master.client_lost(handle))
        return session

    def _extend_session(self, message: Message, caller: Caller) -> Message:
        self._session(message, caller).extend(GraphDef.FromString(_blob(message)), _field(message, "anew", bool))
        return Message("ok")

    def _run_step(self, message: Message, caller: Caller) -> Message:
        session = self._session(message, caller)
        feeds = _names(message, "feeds")
        if len(feeds) != len(message.tensors):
            raise MalformedMessage(f"{len(feeds)} feeds with {len(message.tensors)} values")
        waits = checked_waits(message.fields["probe"]) if "probe" in message.fields else ""
        results, metadata = session.run((feeds, _names(message, "fetches"), _names(message, "targets")), message.tensors,
                                        _field(message, "timeout_ms", int), _field(message, "trace", bool),
                                        _field(message, "partition_graphs", bool), caller, probe=waits)
        return Message("ok", {}, [] if metadata is None else [metadata.SerializeToString()], results)

    def _partial_run_setup(self, message: Message, caller: Caller) -> Message:
        handle = self._session(message, caller).partial_run_setup(_names(message, "feeds"), _names(message, "fetches"), _names(message, "targets"))
        return Message("ok", {"handle": handle})

    def _partial_run(self, message: Message, caller: Caller) -> Message:
        feeds = _names(message, "feeds")
        if len(feeds) != len(message.tensors):
            raise MalformedMessage(f"{len(feeds)} feeds with {len(message.tensors)} values")
        values = self._session(message, caller).partial_run(_field(message, "handle", str), dict(zip(feeds, message.tensors)),
                                                            _names(message, "fetches"), _names(message, "targets"), caller)
        return Message("ok", {}, [], values)

    def _close_session(self, message: Message, caller: Caller) -> Message:
        self.master.close_session(_field(message, "session", str))
        return Message("ok")

    def _list_devices(self, message: Message, caller: Caller) -> Message:
        devices = self._session(message, caller).list_devices()
        return Message("ok", {"devices": [[device.name, device.device_type, device.memory_limit_bytes, device.incarnation] for device in devices]})

    def _reset_all(self, message: Message, caller: Caller) -> Message:
        self.master.reset(_names(message, "containers"))
        return Message("ok")

    def _stop_server(self, message: Message, caller: Caller) -> Message:
        _log.info("told to stop")
        self._stop()
        return Message("ok")

    # --- for masters and workers -------------------------------------------------------------------------------------

    def _get_status(self, message: Message, caller: Caller) -> Message:
        devices = self._worker.devices
        return Message("ok", {"devices": [device.name for device in devices], "memory_limits": [device.memory_limit_bytes for device in devices],
                              "incarnation": self._worker.incarnation})

    def _register_graph(self, message: Message, caller: Caller) -> Message:
        self.master.peers.learn(administration.checked_addresses(message.fields.get("addresses", {})))
        graph, config = _blobs(message, 2)
        session = _field(message, "session", str)
        handle = self._worker.register(session, GraphDef.FromString(graph), _names(message, "fetches"),
                                       _field(message, "frames", bool), ConfigProto.FromString(config))
        self._worker.tenants.speaks(session, caller)
        return Message("ok", {"handle": handle})

    def _run_graph(self, message: Message, caller: Caller) -> Message:
        order = self._accepted_order(message, caller)
        results, metadata = self._worker.run(_field(message, "handle", str), message.tensors, order)
        return Message("ok", {}, [] if metadata is None else [metadata.SerializeToString()], results)

    def _start_graph(self, message: Message, caller: Caller) -> None:
        """Runs a part that is quick; answers when it has ended."""
        def ended(results: list[Any], error: errors.OpError | None) -> None:
            if error is not None:
                self._worker.activity.failed(message.method, error)
            caller.reply(Message("ok", {}, [], results) if error is None else error_message(error))

        order = self._accepted_order(message, caller)
        self._worker.start(_field(message, "handle", str), message.tensors, order, ended)

    def _accepted_order(self, message: Message, caller: Caller) -> RunOrder:
        """How to run a part whose master can now be spoken to."""
        order = _order(message)
        if "probe" in message.fields:
            order.probe = TaskProbe(caller.part, checked_waits(message.fields["probe"]))
        caller.on_gone(lambda: self._worker.abort(order.step, errors.AbortedError(None, None, "the master of the step is gone")))
        master = _field(message, "master", str)
        if master:  # its task takes part in the step: tensors to and from it travel in this conversation
            deliver = self._worker.connect(order.step, master, lambda key, value: caller.part(tensor_message(key, value)))
            caller.on_more(lambda more: deliver_tensor(more, deliver) if order.probe is None or more.method == TENSOR else order.probe.answered(more))
        elif order.probe is not None:
            caller.on_more(order.probe.answered)
        self._worker.tenants.speaks_again(self._worker.session_of(_field(message, "handle", str)), caller)
        return order

    def _recv_tensors(self, message: Message, caller: Caller) -> None:
        step = _field(message, "step", int)

        def ended(error: BaseException | None) -> None:
            caller.reply(Message("ok") if error is None else error_message(
                error if isinstance(error, errors.OpError) else errors.InternalError(None, None, repr(error))))

        self._worker.attach(step, _field(message, "receiver", str), lambda key, value: caller.part(tensor_message(key, value)), ended)

    def _abort_step(self, message: Message, caller: Caller) -> Message:
        self._worker.abort(_field(message, "step", int), error_from(_field(message, "error", dict)))
        return Message("ok")

    def _end_session(self, message: Message, caller: Caller) -> Message:
        self._worker.end_session(_field(message, "session", str))
        return Message("ok")

    def _join_cluster(self, message: Message, caller: Caller) -> Message:
        assert self.master.guests is not None
        cluster = _field(message, "cluster", str)
        self.master.guests.join(cluster, _field(message, "task", str), ClusterDef.FromString(_blob(message)), _field(message, "isolated", bool))
        caller.on_lost(lambda: self._forget_cluster(cluster))
        return Message("ok")

    def _leave_cluster(self, message: Message, caller: Caller) -> Message:
        self._forget_cluster(_field(message, "cluster", str))
        return Message("ok")

    def _forget_cluster(self, cluster: str) -> None:
        assert self.master.guests is not None
        self.master.guests.leave(cluster)
        self._guests.pop(cluster, None)

    def _reset(self, message: Message, caller: Caller) -> Message:
        self._worker.reset(_names(message, "containers"))
        return Message("ok")


def _order(message: Message) -> RunOrder:
    return RunOrder(_field(message, "step", int), _field(message, "timeout_ms", int), _field(message, "trace", bool),
                    _field(message, "partition_graphs", bool), message.fields.get("recorded") is True)


def _field(message: Message, name: str, kind: type) -> Any:
    value = message.fields[name]
    if type(value) is not kind:
        raise MalformedMessage(f"the field {name!r} is {value!r}, no {kind.__name__}")
    return value


def _names(message: Message, name: str) -> list[str]:
    values = _field(message, name, list)
    if not all(type(item) is str for item in values):
        raise MalformedMessage(f"the field {name!r} holds something other than strings")
    return values


def _blob(message: Message) -> bytes:
    return _blobs(message, 1)[0]


def _blobs(message: Message, count: int) -> list[bytes]:
    if len(message.blobs) != count:
        raise MalformedMessage(f"{len(message.blobs)} blobs instead of {count}")
    return [bytes(blob) for blob in message.blobs]
