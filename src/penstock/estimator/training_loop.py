"""The training of one spec: which hooks run, which saver saves, and the loop itself."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.estimator.progress import progress_hooks
from penstock.estimator.run_config import RunConfig
from penstock.estimator.spec import EstimatorSpec
from penstock.estimator.tasks import TaskType
from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import add_to_collection, get_collection
from penstock.platform import logging
from penstock.summary import summary
from penstock.train.basic_hooks import LoggingTensorHook, NanTensorHook, StopAtStepHook
from penstock.train.device_setter import STANDARD_PS_OPS, replica_device_setter
from penstock.train.file_hooks import CheckpointSaverHook, CheckpointSaverListener, StepCounterHook, SummarySaverHook
from penstock.train.global_step import get_global_step
from penstock.train.monitored_training import MonitoredTrainingSession
from penstock.train.saver import Saver
from penstock.train.session_run_hook import SessionRunHook


def device_setter(config: RunConfig) -> Any:
    """The device function of a training graph: variables on parameter servers, if there are any."""
    if config.device_fn is not None:
        return config.device_fn
    if not config.num_ps_replicas:
        return None
    worker = f"/job:{config.task_type}/task:{config.task_id}" if config.task_type else "/job:worker"
    return replica_device_setter(ps_tasks=config.num_ps_replicas, worker_device=worker, merge_devices=True, ps_ops=list(STANDARD_PS_OPS),
                                 cluster=config.cluster_spec)


def train_spec(spec: EstimatorSpec, config: RunConfig, model_dir: str, session_config: Any, hooks: Iterable[SessionRunHook],
               listeners: Iterable[CheckpointSaverListener]) -> Any:
    """Trains until a hook or the end of the input stops it; returns the last loss, None without a step."""
    if not any(each.op.name == "loss" for each in get_collection(GraphKeys.SUMMARIES)):
        summary.scalar("loss", spec.loss)
    add_to_collection(GraphKeys.LOSSES, spec.loss)
    worker_hooks = [*hooks, NanTensorHook(spec.loss)]
    if config.log_step_count_steps is not None:
        worker_hooks.append(LoggingTensorHook({"loss": spec.loss, "step": get_global_step()}, every_n_iter=config.log_step_count_steps))
    worker_hooks += spec.training_hooks
    if not (spec.scaffold.saver or get_collection(GraphKeys.SAVERS)):
        add_to_collection(GraphKeys.SAVERS, Saver(
            sharded=True, max_to_keep=config.keep_checkpoint_max, keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours,
            defer_build=True, save_relative_paths=True))
    chief_hooks = _saver_hooks(spec, config, model_dir, worker_hooks, listeners)
    summary_steps, log_steps, extra = _summaries(config, spec, model_dir)
    steps, last_step = next((hook.bound for hook in worker_hooks if isinstance(hook, StopAtStepHook)), (None, None))
    loss, any_step_done = None, False
    with progress_hooks(spec.loss, steps, last_step) as shown, MonitoredTrainingSession(
            master=config.master, is_chief=config.is_chief, checkpoint_dir=model_dir, scaffold=spec.scaffold, hooks=[*worker_hooks, *extra, *shown],
            chief_only_hooks=[*chief_hooks, *spec.training_chief_hooks], save_checkpoint_secs=0, save_summaries_steps=summary_steps,
            config=session_config, max_wait_secs=config.session_creation_timeout_secs, log_step_count_steps=log_steps) as session:
        while not session.should_stop():
            _, loss = session.run([spec.train_op, spec.loss])
            any_step_done = True
    if not any_step_done:
        logging.warning("Training with estimator made no steps. Perhaps input is empty or misspecified.")
    return loss


def _saver_hooks(spec: EstimatorSpec, config: RunConfig, model_dir: str, worker_hooks: list[SessionRunHook],
                 listeners: Iterable[CheckpointSaverListener]) -> list[SessionRunHook]:
    """The hook that saves, unless the user gave one; the listeners join the first one."""
    savers = [hook for hook in [*worker_hooks, *spec.training_chief_hooks] if isinstance(hook, CheckpointSaverHook)]
    added: list[SessionRunHook] = []
    if not savers and (config.save_checkpoints_secs or config.save_checkpoints_steps):
        savers = [CheckpointSaverHook(model_dir, save_secs=config.save_checkpoints_secs, save_steps=config.save_checkpoints_steps,
                                      scaffold=spec.scaffold)]
        added = list(savers)
    listeners = list(listeners)
    if listeners and not savers:
        raise ValueError("There should be a CheckpointSaverHook to use saving_listeners. Please set one of the RunConfig.save_checkpoints_steps or "
                         "RunConfig.save_checkpoints_secs.")
    for listener in listeners:
        if listener not in savers[0]._listeners:
            savers[0]._listeners.append(listener)
    return added


def _summaries(config: RunConfig, spec: EstimatorSpec, model_dir: str) -> tuple[Any, Any, list[SessionRunHook]]:
    """(steps between summaries, steps between speeds, hooks) of this task. Where a master evaluates besides, worker 0 writes summaries."""
    jobs = config.cluster_spec.jobs
    if TaskType.WORKER not in jobs or TaskType.MASTER not in jobs:
        return config.save_summary_steps, config.log_step_count_steps, []
    hooks: list[SessionRunHook] = []
    if (config.task_type, config.task_id) == (TaskType.WORKER, 0):
        if config.save_summary_steps:
            hooks.append(SummarySaverHook(save_steps=config.save_summary_steps, output_dir=model_dir, scaffold=spec.scaffold))
        if config.log_step_count_steps:
            hooks.append(StepCounterHook(every_n_steps=config.log_step_count_steps, output_dir=model_dir))
    return 0, None, hooks
