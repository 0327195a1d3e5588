"""What to watch: ``watch_graph`` and its like write it into a RunOptions, which ``Session.run`` obeys."""
from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from penstock.graph.graph import Graph
from penstock.graph.node import Tensor
from penstock.session.debug_ops import IDENTITY

Urls = str | Sequence[str] | None


class WatchOptions:
    """``tf_debug.WatchOptions``: which tensors are watched: those that match all of the regular expressions."""

    def __init__(self, debug_ops: Any = None, node_name_regex_whitelist: str | None = None, op_type_regex_whitelist: str | None = None,
                 tensor_dtype_regex_whitelist: str | None = None, tolerate_debug_op_creation_failures: bool = False) -> None:
        self.debug_ops = debug_ops or [IDENTITY]
        self.node_name_regex_whitelist, self.op_type_regex_whitelist = node_name_regex_whitelist, op_type_regex_whitelist
        self.tensor_dtype_regex_whitelist = tensor_dtype_regex_whitelist
        self.tolerate_debug_op_creation_failures = tolerate_debug_op_creation_failures

    def __repr__(self) -> str:
        return "WatchOptions(" + ", ".join(f"{name}={value!r}" for name, value in vars(self).items()) + ")"


def add_debug_tensor_watch(run_options: Any, node_name: str, output_slot: int = 0, debug_ops: Any = IDENTITY, debug_urls: Urls = None,
                           tolerate_debug_op_creation_failures: bool = False, global_step: int = -1) -> None:
    """``tf_debug.add_debug_tensor_watch``: has a run with these options write one output of a node to ``file://`` folders."""
    run_options.debug_options.global_step = global_step
    run_options.debug_options.debug_tensor_watch_opts.add(
        node_name=node_name, output_slot=output_slot, debug_ops=_list(debug_ops), debug_urls=_list(debug_urls),
        tolerate_debug_op_creation_failures=tolerate_debug_op_creation_failures)


def watch_graph(run_options: Any, graph: Graph, debug_ops: Any = IDENTITY, debug_urls: Urls = None, node_name_regex_whitelist: str | None = None,
                op_type_regex_whitelist: str | None = None, tensor_dtype_regex_whitelist: str | None = None,
                tolerate_debug_op_creation_failures: bool = False, global_step: int = -1, reset_disk_byte_usage: bool = False) -> None:
    """``tf_debug.watch_graph``: watches all tensors of a graph, or those that match all of the regular expressions."""
    patterns = node_name_regex_whitelist, op_type_regex_whitelist, tensor_dtype_regex_whitelist
    run_options.debug_options.reset_disk_byte_usage = reset_disk_byte_usage
    _watch(run_options, graph, patterns, all, False, debug_ops, debug_urls, tolerate_debug_op_creation_failures, global_step)


def watch_graph_with_blacklists(run_options: Any, graph: Graph, debug_ops: Any = IDENTITY, debug_urls: Urls = None,
                                node_name_regex_blacklist: str | None = None, op_type_regex_blacklist: str | None = None,
                                tensor_dtype_regex_blacklist: str | None = None, tolerate_debug_op_creation_failures: bool = False,
                                global_step: int = -1, reset_disk_byte_usage: bool = False) -> None:
    """``tf_debug.watch_graph_with_blacklists``: watches all tensors of a graph but those that match any of the regular expressions."""
    patterns = node_name_regex_blacklist, op_type_regex_blacklist, tensor_dtype_regex_blacklist
    run_options.debug_options.reset_disk_byte_usage = reset_disk_byte_usage
    _watch(run_options, graph, patterns, any, True, debug_ops, debug_urls, tolerate_debug_op_creation_failures, global_step)


def _watch(run_options: Any, graph: Graph, patterns: tuple[str | None, ...], join: Callable[[Any], bool], excluded: bool, debug_ops: Any,
           debug_urls: Urls, tolerate: bool, global_step: int) -> None:
    if not any(patterns):
        add_debug_tensor_watch(run_options, "*", -1, debug_ops, debug_urls, tolerate, global_step)
        return
    for tensor in (tensor for op in graph.get_operations() for tensor in op.outputs):
        if join(bool(re.match(pattern, text)) for pattern, text in zip(patterns, _texts(tensor)) if pattern) != excluded:
            add_debug_tensor_watch(run_options, tensor.op.name, tensor.value_index, debug_ops, debug_urls, tolerate, global_step)


def _texts(tensor: Tensor) -> tuple[str, str, str]:
    return tensor.op.name, tensor.op.type, tensor.dtype.name


def _list(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value or [])
