"""What the graph of a client without the secret may do: compute, and use the variables, queues and tables of the cluster, and no more."""
from __future__ import annotations

import os
from collections.abc import Iterable

from penstock.errors import PermissionDeniedError
from penstock.graph.function import FuncGraph
from penstock.graph.node import Operation

_ALLOWED = {"files": "PENSTOCK_FOREIGN_FILES", "python": "PENSTOCK_FOREIGN_PYTHON"}  # the variables that allow it
_WHAT = {"files": "reads or writes files of the server", "python": "calls Python code of the server"}


def check_foreign(operations: Iterable[Operation]) -> None:
    """PermissionDeniedError if one of the operations, or of those in the functions that they call, gets at files or Python code."""
    stack, seen = list(operations), set[FuncGraph]()
    while stack:
        op = stack.pop()
        touches = op.definition.touches
        reached = touches(op.attrs) if callable(touches) else touches
        if reached and os.environ.get(_ALLOWED[reached]) != "1":
            raise PermissionDeniedError(None, op, f"'{op.name}' ({op.type}) {_WHAT[reached]}, which a client without the cluster's secret may not; "
                                        f"{_ALLOWED[reached]}=1 in the server's environment allows it")
        for function in op.attrs.values():
            if isinstance(function, FuncGraph) and function not in seen:
                seen.add(function)
                stack.extend(function._ops)
