"""``train_and_evaluate``: the whole workflow in one call, in this process or as the task of a cluster that TF_CONFIG describes.

A chief and the workers train, parameter servers hold the variables, an evaluator watches the checkpoints. Each process runs the same program; which
part it takes is in its configuration. A task that is started again goes on where the checkpoints are.
"""
from __future__ import annotations

import time
from typing import Any

from penstock.distributed.server import Server
from penstock.estimator.estimator import Estimator
from penstock.estimator.evaluator import EvaluatingListener, Evaluator, evaluate_until
from penstock.estimator.run_config import RunConfig
from penstock.estimator.tasks import TaskType
from penstock.estimator.train_eval_specs import EvalSpec, TrainSpec
from penstock.platform import logging

_STAGGER, _LONGEST_DELAY = 5, 60  # seconds: worker n starts 5 (n + 1) s after the chief, but never later than this


def train_and_evaluate(estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> Any:
    """``tf.estimator.train_and_evaluate``: returns (metrics, results of the exporters) in a process that trains and evaluates, else None."""
    for value, kind, name in ((estimator, Estimator, "estimator"), (train_spec, TrainSpec, "train_spec"), (eval_spec, EvalSpec, "eval_spec")):
        if not isinstance(value, kind):
            raise TypeError(f"`{name}` must have type `tf.estimator.{kind.__name__}`, given {type(value)}")
    config = estimator.config
    if config.task_type == TaskType.EVALUATOR and config.task_id > 0:
        raise ValueError(f"For distributed training, there can only be one `evaluator` task (with task id 0).  Given task id {config.task_id}")
    if not config.cluster_spec and config.task_type != TaskType.EVALUATOR:
        logging.info("Running training and evaluation locally (non-distributed).")
        return _train_and_evaluate_here(estimator, train_spec, eval_spec)
    parts = {TaskType.CHIEF: _train, TaskType.WORKER: _train, TaskType.PS: _serve_parameters, TaskType.EVALUATOR: _evaluate,
             TaskType.MASTER: _train_and_evaluate_as_master}
    if config.task_type not in parts:
        raise ValueError(f"Task type {config.task_type} is not supported. Supported task types are {sorted(parts)}")
    return parts[config.task_type](estimator, train_spec, eval_spec)


def _train_and_evaluate_here(estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> Any:
    config = estimator.config
    logging.info("Start train and evaluate loop. The evaluate will happen after every checkpoint. Checkpoint frequency is determined based on "
                 "RunConfig arguments: save_checkpoints_steps %s or save_checkpoints_secs %s.", config.save_checkpoints_steps,
                 config.save_checkpoints_secs)
    listener = EvaluatingListener(Evaluator(estimator, eval_spec, train_spec.max_steps), eval_spec.throttle_secs)
    estimator.train(train_spec.input_fn, hooks=train_spec.hooks, max_steps=train_spec.max_steps, saving_listeners=[listener])
    return listener.metrics, listener.exports


def _train(estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> None:
    config = estimator.config
    server = _started_server(config)
    if config.task_type == TaskType.WORKER:
        longest = config.experimental_max_worker_delay_secs
        delay = min(_LONGEST_DELAY if longest is None else longest, _STAGGER * (config.task_id + 1))
        if delay > 0:
            logging.info("Waiting %d secs before starting training.", delay)
            time.sleep(delay)
    estimator.train(train_spec.input_fn, hooks=train_spec.hooks, max_steps=train_spec.max_steps)
    del server  # it has to live until training ends


def _train_and_evaluate_as_master(estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> Any:
    server = _started_server(estimator.config)
    result = _train_and_evaluate_here(estimator, train_spec, eval_spec)
    del server
    return result


def _serve_parameters(estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> None:
    server = _started_server(estimator.config)
    if server is None:
        raise ValueError("A ps alone makes no cluster: TF_CONFIG must name a chief besides.")
    server.join()


def _evaluate(estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> None:
    evaluate_until(estimator, eval_spec, train_spec.max_steps)


def _started_server(config: RunConfig) -> Server | None:
    """The server of this task; None if the task is the only one of its cluster."""
    if not config.master:
        logging.warning("The cluster has one task only: it trains without a server.")
        return None
    logging.info("Start Tensorflow server.")
    return Server(config.cluster_spec, job_name=config.task_type, task_index=config.task_id, config=config.session_config,
                  protocol=config.protocol)
