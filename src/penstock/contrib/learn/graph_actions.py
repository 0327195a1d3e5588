"""``run_n``, ``run_feeds``, ``infer``: a graph is initialized, or restored, and run with its queues."""
from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from penstock.graph.convert import graph_for
from penstock.session.session import Session
from penstock.train.coordinator import Coordinator
from penstock.train.queue_runner import start_queue_runners
from penstock.train.saver import Saver
from penstock.train.scaffold import Scaffold
from penstock.variables.initialization import global_variables_initializer

_PATIENCE = 120  # seconds that threads get to stop


def run_feeds_iter(output_dict: dict[str, Any], feed_dicts: Iterable[Any], restore_checkpoint_path: str | None = None) -> Iterator[dict[str, Any]]:
    """Yields the outputs for each of the feeds. Variables come from the checkpoint, if there is one."""
    if not output_dict:
        raise ValueError(f"output_dict is invalid: {output_dict}.")
    if not feed_dicts:
        raise ValueError(f"feed_dicts is invalid: {feed_dicts}.")
    with graph_for(list(output_dict.values())).as_default(), Session() as session:
        if restore_checkpoint_path:
            Saver(sharded=True).restore(session, restore_checkpoint_path)
        else:
            session.run(global_variables_initializer())
        session.run(Scaffold.default_local_init_op())
        coordinator = Coordinator()
        threads = start_queue_runners(session, coord=coordinator)
        try:
            for feeds in feed_dicts:
                yield session.run(output_dict, feeds)
        finally:
            coordinator.request_stop()
            coordinator.join(threads, stop_grace_period_secs=_PATIENCE)


def run_feeds(output_dict: dict[str, Any], feed_dicts: Iterable[Any], restore_checkpoint_path: str | None = None) -> list[dict[str, Any]]:
    """``tf.contrib.learn.run_feeds``: the outputs for each of the feeds."""
    return list(run_feeds_iter(output_dict, feed_dicts, restore_checkpoint_path))


def run_n(output_dict: dict[str, Any], feed_dict: Any = None, restore_checkpoint_path: str | None = None, n: int = 1) -> list[dict[str, Any]]:
    """``tf.contrib.learn.run_n``: the outputs of ``n`` runs."""
    return run_feeds(output_dict, itertools.repeat(feed_dict, n), restore_checkpoint_path)


def infer(restore_checkpoint_path: str, output_dict: dict[str, Any], feed_dict: Any = None) -> dict[str, Any]:
    """``tf.contrib.learn.infer``: the outputs of one run with the variables of a checkpoint."""
    return run_feeds(output_dict, [feed_dict], restore_checkpoint_path)[0]
