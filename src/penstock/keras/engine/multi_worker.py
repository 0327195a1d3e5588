"""Models that several workers train in step: ``fit`` under a MultiWorkerMirroredStrategy, where each process of TF_CONFIG calls it.

Each worker has variables of its own, in a session of its own server, and trains on its part of each batch. The means of the gradients over all
workers are applied, so that the variables stay equal; losses and metrics of training are means, too, and so callbacks decide alike everywhere. The
first worker leads: the others take its variables when ``fit`` begins (``train/allreduce.py``). Evaluations, predictions and validation are each
worker's own, on all of the data. The averages of batch normalization are those of each worker's part.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from penstock.graph import nest
from penstock.graph.convert import to_tensor
from penstock.graph.function import outermost
from penstock.graph.graph import default_graph
from penstock.layers.sessions import initialized_session, use_target
from penstock.variables.replicas import current_context, current_strategy


def are_several(strategy: Any) -> bool:
    """Whether a strategy has replicas in other processes."""
    return strategy is not None and strategy.extended.workers > 1


def strategy_of_models() -> Any:
    """The strategy that trains a model which is made here, or None: a model that is made for one replica, as estimators do, is trained with it."""
    return None if current_context() is not None else current_strategy()


def join(strategy: Any) -> None:
    """Has the models of the default graph run on the server of this worker, if there are several; it starts here."""
    if strategy is None:
        return
    if strategy.extended.has_servers:
        raise NotImplementedError("Keras models are not trained with parameter servers; use tf.keras.estimator.model_to_estimator, or "
                                  "tf.distribute.experimental.MultiWorkerMirroredStrategy.")
    if are_several(strategy):
        if outermost(default_graph()).imperative:
            raise NotImplementedError(f"In imperative style, Keras models are not trained by {type(strategy).__name__} over several workers. "
                                      "Train in a graph, without tf.enable_eager_execution().")
        use_target(default_graph(), strategy.extended.target)


def share_of(strategy: Any, rows: Any) -> Any:
    """The rows of this worker: every n-th one of all arrays. Workers have the same number of them; what is left over goes to none."""
    worker, workers = strategy.extended.worker, strategy.extended.workers
    return nest.map_structure(lambda array: array[worker:len(array) // workers * workers:workers], rows)


def share_of_size(strategy: Any, batch_size: int) -> int:
    """The part of a worker of each batch; ValueError if the workers cannot share it."""
    if batch_size % strategy.extended.workers:
        raise ValueError(f"The `batch_size` argument value {batch_size} cannot be divisible by number of workers {strategy.extended.workers}")
    return batch_size // strategy.extended.workers


def in_step(strategy: Any, optimizer: Any, loss: Any, trained: Sequence[Any], reported: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The updates of a training step, and what it reports, with the means over all workers."""
    grads = optimizer.get_gradients(loss, trained)
    means = strategy.extended.batch_reduce_to("MEAN", [(value, None) for value in (*grads, *map(to_tensor, reported))])
    return [optimizer.apply_gradients(zip(means, trained))], means[len(grads):]


@contextmanager
def together(strategy: Any) -> Iterator[None]:
    """Inside, all workers train: they begin together, with the variables of the first one."""
    hook = strategy.extended.make_session_run_hook()
    session = initialized_session()
    hook.begin()
    hook.after_create_session(session, None)
    try:
        yield
    finally:
        hook.end(session)
