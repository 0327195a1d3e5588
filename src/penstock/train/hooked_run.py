"""One run of a session with hooks around it: what the caller and the hooks want is asked for in one step."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorboard.compat.proto.config_pb2 import RunMetadata, RunOptions

from penstock.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues


def run_with_hooks(session: Any, hooks: Sequence[SessionRunHook], fetches: Any, feed_dict: Any = None, options: Any = None,
                   run_metadata: Any = None) -> tuple[Any, bool]:
    """(the values of ``fetches``, whether a hook asked to stop)."""
    context = SessionRunContext(SessionRunArgs(fetches, feed_dict), session)
    wanted, feeds, merged = _ask(hooks, context, fetches, feed_dict, options)
    metadata = RunMetadata() if run_metadata is None else run_metadata
    values = session.run(wanted, feed_dict=feeds, options=merged, run_metadata=metadata)
    for hook in hooks:
        hook.after_run(context, SessionRunValues(values.get(hook), merged, metadata))
    return values["caller"], context.stop_requested


def _ask(hooks: Sequence[SessionRunHook], context: SessionRunContext, fetches: Any, feed_dict: Any, options: Any) -> tuple[dict[Any, Any], Any, Any]:
    """What the caller and all hooks want together: fetches by hook, feeds, options."""
    wanted: dict[Any, Any] = {"caller": fetches}
    feeds: dict[Any, Any] = {}
    merged: Any = options  # as it is, unless a hook wishes for more
    for hook in hooks:
        request = hook.before_run(context)
        if request is None:
            continue
        if request.fetches is not None:
            wanted[hook] = request.fetches
        if request.feed_dict:
            _check_disjoint(feeds, request.feed_dict, "Same tensor is fed by two hooks.")
            feeds.update(request.feed_dict)
        if request.options is not None:
            before, merged = merged, RunOptions()
            if before is not None:
                merged.CopyFrom(before)
            _merge_options(merged, request.options)
    if not feeds:
        feeds = feed_dict
    elif feed_dict:
        _check_disjoint(feeds, feed_dict, "Same tensor is fed by a SessionRunHook and user.")
        feeds.update(feed_dict)
    return wanted, feeds or None, RunOptions() if merged is None else merged


def _check_disjoint(first: Any, second: Any, message: str) -> None:
    both = [tensor for tensor in first if tensor in second]
    if both:
        raise RuntimeError(f"{message} Conflict(s): {both}")


def _merge_options(options: Any, more: Any) -> None:
    """Adds the wishes of a hook: the higher trace level, the longer timeout, all watches."""
    options.trace_level = max(options.trace_level, more.trace_level)
    options.timeout_in_ms = max(options.timeout_in_ms, more.timeout_in_ms)
    options.inter_op_thread_pool = max(options.inter_op_thread_pool, more.inter_op_thread_pool)
    options.output_partition_graphs = options.output_partition_graphs or more.output_partition_graphs
    options.report_tensor_allocations_upon_oom = options.report_tensor_allocations_upon_oom or more.report_tensor_allocations_upon_oom
    options.debug_options.debug_tensor_watch_opts.extend(more.debug_options.debug_tensor_watch_opts)
