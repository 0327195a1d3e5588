"""A server that answers TensorFlow's clients and computes nothing, for ``foreign.py``: what gRPC for Python and the client itself take.

It answers a step with zeros: of the shape of what is fed, if that is one tensor, otherwise scalars. A reply is made once for each length of a
request.
"""
from __future__ import annotations

import sys
import threading
from concurrent import futures
from typing import Any

import grpc
import numpy as np

from penstock.distributed.foreign_tensors import tensor_pieces
from penstock.distributed.grpc_common import foreign_options
from penstock.distributed.master_proto import REQUESTS, RESPONSES


class Answers(grpc.GenericRpcHandler):
    """Canned replies."""

    def __init__(self) -> None:
        self._steps: dict[int, bytes] = {}

    def service(self, call: Any) -> Any:
        """Calls as Penstock's server takes them."""
        method = call.method.rpartition("/")[2]
        return grpc.stream_unary_rpc_method_handler(lambda requests, context: self._answer(method, next(requests)))

    def _answer(self, method: str, request: bytes) -> bytes:
        if method != "RunStep":
            response = RESPONSES[method]()
            if method == "CreateSession":
                response.session_handle, response.graph_version = "floor", 1
            return response.SerializeToString()
        reply = self._steps.get(len(request))
        if reply is None:
            reply = self._steps[len(request)] = _reply(REQUESTS[method].FromString(request))
        return reply


def _reply(request: Any) -> bytes:
    shape = [dim.size for dim in request.feed[0].tensor.tensor_shape.dim] if len(request.feed) == 1 else []
    return b"".join(piece for name in request.fetch for piece in tensor_pieces(name, np.zeros(shape, np.float32)))


def main() -> None:
    """Serves until its input ends."""
    server = grpc.server(futures.ThreadPoolExecutor(8), handlers=[Answers()], options=foreign_options(1024))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(f"grpc://127.0.0.1:{port}", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    sys.exit(main())
