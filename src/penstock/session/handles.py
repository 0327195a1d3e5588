"""Handles of tensors that stay in a session between its steps.

``get_session_handle`` keeps a value where it was computed; to fetch it gives a ``TensorHandle``, whose text (``node;number;device``) a later step
feeds to get at the value (``get_session_tensor``). A value whose TensorHandle is gone is deleted when the session hands out another one: never while
Python collects garbage, which may happen anywhere.
"""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.graph.device import canonical_name
from penstock.graph.dtypes import DType, as_dtype
from penstock.graph.graph import Graph, default_graph
from penstock.graph.node import Operation, Tensor
from penstock.graph.scopes import colocate_with
from penstock.ops.constant import placeholder
from penstock.ops.state.session_tensors import DeleteSessionTensor, GetSessionHandle, GetSessionTensor

_DEAD_LIMIT = 10  # dead handles that a session lets pile up


class TensorHandle:
    """A value that a session keeps; ``handle`` is its text."""

    def __init__(self, handle: Any, dtype: DType, session: Any) -> None:
        self._handle = _text(handle)
        self._dtype, self._session = dtype, session
        self._auto_gc_enabled = True

    def __del__(self) -> None:
        if getattr(self, "_auto_gc_enabled", False):
            self._session._dead_handles.append(self._handle)

    def __str__(self) -> str:
        return self._handle

    def __repr__(self) -> str:
        return f"TensorHandle({self._handle!r})"

    @property
    def handle(self) -> str:
        """The text to feed: ``node;number;device``."""
        return self._handle

    def eval(self) -> Any:
        """The value."""
        self._check_alive()
        holder, reader = _reader(self._session.graph, self._handle, self._dtype)
        return self._session.run(reader, {holder: self._handle})

    def delete(self) -> None:
        """Has the session forget the value now."""
        holder, deleter = _deleter(self._session.graph, 0, self.get_raw_handle())
        self._session.run(deleter, {holder: self._handle})

    def get_raw_handle(self) -> str:
        """The text; from now on the value stays until it is deleted explicitly."""
        self._check_alive()
        self._auto_gc_enabled = False
        return self._handle

    def _check_alive(self) -> None:
        if not self._auto_gc_enabled:
            raise TypeError(f"Persistent tensor {self._handle} may have already been deleted.")


def get_session_handle(data: Tensor, name: str | None = None) -> Tensor:
    """Keeps ``data`` in the session; fetched, it gives a TensorHandle.

    >>> import penstock as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     kept = sess.run(tf.get_session_handle(tf.constant(2) * 3))
    ...     holder, value = tf.get_session_tensor(kept.handle, tf.int32)
    ...     sess.run(value + 1, {holder: kept.handle})
    np.int32(7)
    """
    if not isinstance(data, Tensor):
        raise TypeError("`data` must be of type Tensor.")
    with colocate_with(data):
        handle: Tensor = GetSessionHandle(data, name=name)
    return handle


def get_session_tensor(handle: Any, dtype: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """(a placeholder for the text of a handle, the value behind the handle that is fed). Both are on the device of ``handle``."""
    graph = default_graph()
    with graph.device(_device(_text(handle))):
        holder = placeholder(dtypes.string)
        value: Tensor = GetSessionTensor(holder, dtype=as_dtype(dtype), name=name)
    graph._handle_feeders[holder.op.name] = value.dtype
    return holder, value


def delete_session_tensor(handle: Any, name: str | None = None) -> tuple[Tensor, Operation]:
    """(a placeholder for the text of a handle, the operation that has the session forget the value behind it)."""
    with default_graph().device(_device(_text(handle))):
        holder = placeholder(dtypes.string)
        return holder, DeleteSessionTensor(holder, name=name)


# --- for sessions ----------------------------------------------------------------------------------------------------

def handed_out(handle: Any, dtype: DType, session: Any) -> TensorHandle:
    """The TensorHandle of a handle that was fetched. Values whose handles are gone are deleted, if there are many."""
    dead = session._dead_handles
    if len(dead) >= _DEAD_LIMIT:
        texts = [dead.pop() for _ in range(_DEAD_LIMIT)]
        pairs = [_deleter(session.graph, number, text) for number, text in enumerate(texts)]
        session.run([deleter for _, deleter in pairs], dict(zip([holder for holder, _ in pairs], texts)))
    return TensorHandle(handle, dtype, session)


def moved(session: Any, feeds: dict[Tensor, Any]) -> dict[Tensor, TensorHandle]:
    """For placeholders that are fed a handle of another device: new handles, of the values copied to the device of the placeholder.

    They live as long as the caller keeps them.
    """
    result: dict[Tensor, TensorHandle] = {}
    graph = session.graph
    for holder, fed in feeds.items():
        dtype = graph._handle_feeders.get(holder.op.name)
        if dtype is None or _device(text := _text(fed)) == canonical_name(holder.device):
            continue
        key = ("mover", holder.device, _device(text), dtype)
        if key not in graph._handle_nodes:
            source, value = _reader(graph, text, dtype)
            with graph.as_default(), graph.device(holder.device):
                graph._handle_nodes[key] = source, GetSessionHandle(value)
        source, mover = graph._handle_nodes[key]
        result[holder] = session.run(mover, {source: text})
    return result


def _reader(graph: Graph, handle: str, dtype: DType) -> tuple[Tensor, Tensor]:
    key = ("reader", _device(handle), dtype)
    if key not in graph._handle_nodes:
        with graph.as_default():
            graph._handle_nodes[key] = get_session_tensor(handle, dtype)
    return graph._handle_nodes[key]


def _deleter(graph: Graph, number: int, handle: str) -> tuple[Tensor, Operation]:
    key = ("deleter", _device(handle), number)
    if key not in graph._handle_nodes:
        with graph.as_default():
            graph._handle_nodes[key] = delete_session_tensor(handle)
    return graph._handle_nodes[key]


def _text(handle: Any) -> str:
    handle = handle.item() if hasattr(handle, "item") else handle
    return handle.decode() if isinstance(handle, bytes) else str(handle)


def _device(handle: str) -> str:
    return canonical_name(handle.rpartition(";")[-1])
