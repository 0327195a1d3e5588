"""``train_and_evaluate``: the whole workflow in one call, in this process or as the task of a cluster that TF_CONFIG describes.

A chief and the workers train, parameter servers hold the variables, an evaluator watches the checkpoints. Each process runs the same program; which
part it takes is in its configuration. A task that is started again goes on where the checkpoints are.
"""
from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import Any

from tensorboard.compat.proto.config_pb2 import ConfigProto

from penstock.distributed.server import Server
from penstock.estimator.estimator import Estimator
from penstock.estimator.evaluator import EvaluatingListener, Evaluator, evaluate_until
from penstock.estimator.run_config import RunConfig
from penstock.estimator.tasks import TaskType
from penstock.estimator.train_eval_specs import EvalSpec, TrainSpec
from penstock.platform import logging
from penstock.train.session_run_hook import SessionRunHook
from penstock.train.strategies import Strategy

_STAGGER, _LONGEST_DELAY = 5, 60  # seconds: worker n starts 5 (n + 1) s after the chief, but never later than this


def train_and_evaluate(estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> Any:
    """``tf.estimator.train_and_evaluate``: returns (metrics, results of the exporters) in a process that trains and evaluates, else None."""
    if not isinstance(eval_spec, EvalSpec):
        raise _wrong_type("eval_spec", EvalSpec, eval_spec)
    executor = TrainingExecutor(estimator=estimator, train_spec=train_spec, eval_spec=eval_spec)
    config = estimator.config
    if config.task_type == TaskType.EVALUATOR and config.task_id > 0:
        raise ValueError(f"For distributed training, there can only be one `evaluator` task (with task id 0).  Given task id {config.task_id}")
    # Executors of 1.4 had a method for each task alone; tests and libraries that set one of their own have either.
    return executor.run() if hasattr(type(executor), "run") else task_of(executor, config)()


def _wrong_type(name: str, kind: type, value: Any) -> TypeError:
    return TypeError(f"`{name}` must have type `tf.estimator.{kind.__name__}`, given {type(value)}")


def task_of(executor: Any, config: RunConfig) -> Callable[[], Any]:
    """The method of an executor for the task that a configuration tells of."""
    logging.info("Not using Distribute Coordinator.")
    if not config.cluster_spec and config.task_type != TaskType.EVALUATOR:
        logging.info("Running training and evaluation locally (non-distributed).")
        return executor.run_local
    if not config.task_type:
        raise ValueError("`estimator.config` must have task_type set. This usually means TF_CONFIG environment is not set correctly.")
    if config.task_type == "local":
        raise ValueError("`task.type` in TF_CONFIG cannot be `local`. Leaving `cluster` and `task` properties in TF_CONFIG absent triggers "
                         "train and evaluate `Estimator` locally (non-distributed).")
    tasks = {name.removeprefix("run_"): method for name in dir(executor) if name.startswith("run_") and name != "run_local"
             and callable(method := getattr(executor, name))}
    if config.task_type not in tasks:
        raise ValueError(f"Task type {config.task_type} is not supported. Supported task types are {list(tasks)}")
    return tasks[config.task_type]


class TrainingExecutor:
    """What the tasks of a cluster do, each kind by a method ``run_<kind>``; without a cluster it is ``run_local``."""

    def __init__(self, estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec | None) -> None:
        for value, kind, name in ((estimator, Estimator, "estimator"), (train_spec, TrainSpec, "train_spec"), (eval_spec, EvalSpec, "eval_spec")):
            if not isinstance(value, kind) and not (name == "eval_spec" and value is None):
                raise _wrong_type(name, kind, value)
        self.estimator, self._train_spec, self._eval_spec = estimator, train_spec, eval_spec

    def run(self) -> Any:
        """Does what the task is for."""
        return task_of(self, self.estimator.config)()

    def run_local(self) -> Any:
        """Trains and evaluates, in turns."""
        config = self.estimator.config
        logging.info("Start train and evaluate loop. The evaluate will happen after every checkpoint. Checkpoint frequency is determined based on "
                     "RunConfig arguments: save_checkpoints_steps %s or save_checkpoints_secs %s.", config.save_checkpoints_steps,
                     config.save_checkpoints_secs)
        listener = self._evaluating_listener()
        self._train([listener])
        return listener.metrics, listener.exports

    def run_chief(self) -> None:
        """Trains."""
        self._train_in_cluster()

    def run_worker(self) -> None:
        """Trains, a little later than the chief."""
        self._train_in_cluster()

    def run_master(self) -> Any:
        """Trains and evaluates, in turns, as the chief of a cluster of the first years."""
        listener = self._evaluating_listener()
        self._train_in_cluster([listener])
        return listener.metrics, listener.exports

    def run_ps(self) -> None:
        """Holds variables."""
        started_server(self.estimator.config).join()

    def run_evaluator(self) -> None:
        """Evaluates new checkpoints until the training is over."""
        evaluate_until(self.estimator, self._checked_eval_spec(), self._train_spec.max_steps)

    def _checked_eval_spec(self) -> EvalSpec:
        if self._eval_spec is None:
            raise _wrong_type("eval_spec", EvalSpec, None)
        return self._eval_spec

    def _evaluating_listener(self) -> EvaluatingListener:
        spec = self._checked_eval_spec()
        return EvaluatingListener(Evaluator(self.estimator, spec, self._train_spec.max_steps), spec.throttle_secs)

    def _train(self, listeners: list[Any] | None = None) -> None:
        spec = self._train_spec
        self.estimator.train(input_fn=spec.input_fn, max_steps=spec.max_steps, hooks=list(spec.hooks), saving_listeners=listeners)

    def _train_in_cluster(self, listeners: list[Any] | None = None) -> None:
        config = self.estimator.config
        strategy = config.train_distribute
        in_step = isinstance(strategy, Strategy) and strategy.extended.workers > 1  # then the strategy has its server
        server = None if in_step or _runs_at_google() or _is_alone(config) else started_server(config)
        if config.task_type == TaskType.WORKER and not in_step:
            longest = config.experimental_max_worker_delay_secs
            delay = min(_LONGEST_DELAY if longest is None else longest, _STAGGER * (config.task_id + 1))
            if delay > 0:
                logging.info("Waiting %d secs before starting training.", delay)
                time.sleep(delay)
        self._train(listeners)
        del server  # it has to live until training ends


def _runs_at_google() -> bool:
    """Whether TF_CONFIG says that the servers are there already."""
    return bool(json.loads(os.environ.get("TF_CONFIG") or "{}").get("environment") == "google")


def _is_alone(config: RunConfig) -> bool:
    """Whether the task is the only one of its cluster, so that it needs no server."""
    if config.master or not config.cluster_spec or [len(config.cluster_spec.job_tasks(job)) for job in config.cluster_spec.jobs] != [1]:
        return False
    logging.info("Skip starting Tensorflow server as there is only one node in the cluster.")
    return True


def started_server(config: RunConfig) -> Server:
    """The server of this task. RuntimeError if the configuration does not tell which one it is."""
    if not config.cluster_spec or not config.task_type or config.task_id is None:
        raise RuntimeError("Could not start server; be sure to specify cluster_spec, task_type, and task in RunConfig or set the TF_CONFIG "
                           "environment variable.")
    if not config.master:
        raise RuntimeError("Could not start server; be sure to specify master in RunConfig or set the TF_CONFIG environment variable.")
    logging.info("Start Tensorflow server.")
    server = Server(config.cluster_spec, job_name=config.task_type, task_index=config.task_id, config=config.session_config or ConfigProto(),
                    start=False, protocol=config.protocol)
    server.start()
    return server


class StopAtSecsHook(SessionRunHook):
    """Stops after so many seconds."""

    def __init__(self, stop_after_secs: float) -> None:
        self._seconds, self._start = stop_after_secs, 0.0

    def begin(self) -> None:
        """Looks at the clock."""
        self._start = time.time()

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Stops when the time is over."""
        if time.time() - self._start >= self._seconds:
            run_context.request_stop()
