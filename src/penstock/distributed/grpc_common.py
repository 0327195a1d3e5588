"""What both ends of a gRPC connection share: the path and the options.

A task connects to another one by one gRPC call, ``Connect``: a stream in both directions that is open for as long as the
two have to do with each other. Its first pieces are the greeting (``security.py``). Then the server offers a Unix
socket: if the client can open it, the two are on one host, and frames go through that socket and shared memory
(``carrier_socket.py``); if not, they go through the stream (``carrier_grpc.py``). Either way the stream tells at once
when the other process ends, and gRPC's pings tell within ten seconds when it hangs. Nothing is retried: a request is
delivered once or not at all.
"""
from __future__ import annotations

CONNECT = "/penstock.Task/Connect"
LARGEST = 2 << 20  # bytes of a piece, with what is around it
_FOREIGN_LARGEST = 512 << 20  # bytes: TensorFlow's clients send graphs and tensors in one piece
_UNLIMITED = -1
_STREAMS = 100  # of one connection; tasks have one each
_IDLE_MS = 10_000  # that a connection without a call is kept: those of tasks always have one
_CONNECTIONS, _CONNECTIONS_PER_TASK = 256, 8  # to one server
_WINDOW = 1 << 20  # bytes on their way that were not asked for: a ping waits behind them
_SHARED_OPTIONS = [
    ("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", _WINDOW),
    ("grpc.keepalive_time_ms", 3000), ("grpc.keepalive_timeout_ms", 4000), ("grpc.http2.ping_timeout_ms", 4000),
    ("grpc.keepalive_permit_without_calls", 1), ("grpc.http2.max_pings_without_data", 0)]
CLIENT_OPTIONS = [
    *_SHARED_OPTIONS, ("grpc.enable_http_proxy", 0), ("grpc.enable_retries", 0), ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_receive_message_length", LARGEST), ("grpc.max_send_message_length", LARGEST),
    ("grpc.initial_reconnect_backoff_ms", 200), ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.min_reconnect_backoff_ms", 2000)]  # in spite of its name, what one attempt may take: several ways there and back
_SERVER_OPTIONS = [
    *_SHARED_OPTIONS, ("grpc.http2.min_ping_interval_without_data_ms", 500), ("grpc.http2.max_ping_strikes", 0), ("grpc.so_reuseport", 0),
    ("grpc.max_send_message_length", _UNLIMITED), ("grpc.max_concurrent_streams", _STREAMS), ("grpc.max_connection_idle_ms", _IDLE_MS),
    ("grpc.compression_enabled_algorithms_bitset", 1)]  # none: a small piece must not become a large one


def server_options(tasks: int, open_files: int) -> list[tuple[str, int]]:
    """For the port of a task in a cluster of so many, in a process that may have so many files open.

    No side sends more than a piece at once, least of all before it is known who it is; and connections, which any process can make, leave half of the
    files to the program.
    """
    connections = min(max(_CONNECTIONS, _CONNECTIONS_PER_TASK * tasks), open_files // 2)
    return [*_SERVER_OPTIONS, ("grpc.max_receive_message_length", LARGEST), ("grpc.max_allowed_incoming_connections", connections)]


def foreign_options(open_files: int) -> list[tuple[str, int]]:
    """For a port at which only TensorFlow's clients are served."""
    return [*_SERVER_OPTIONS, ("grpc.max_receive_message_length", _FOREIGN_LARGEST),
            ("grpc.max_allowed_incoming_connections", min(_CONNECTIONS, open_files // 4))]
