"""MonitoredTrainingSession: a monitored session with the hooks and the session creator that training on a cluster usually needs."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tensorboard.compat.proto.config_pb2 import ConfigProto

from penstock.train.file_hooks import CheckpointSaverHook, StepCounterHook, SummarySaverHook
from penstock.train.monitored_session import MonitoredSession
from penstock.train.scaffold import USE_DEFAULT, ChiefSessionCreator, Scaffold, WorkerSessionCreator
from penstock.train.session_run_hook import SessionRunHook
from penstock.variables.replicas import current_strategy


def MonitoredTrainingSession(master: str = "", is_chief: bool = True, checkpoint_dir: str | None = None, scaffold: Scaffold | None = None,
                             hooks: Iterable[SessionRunHook] | None = None, chief_only_hooks: Iterable[SessionRunHook] | None = None,
                             save_checkpoint_secs: Any = USE_DEFAULT, save_summaries_steps: Any = USE_DEFAULT, save_summaries_secs: Any = USE_DEFAULT,
                             config: Any = None, stop_grace_period_secs: float = 120, log_step_count_steps: int | None = 100,
                             max_wait_secs: float = 7200, save_checkpoint_steps: Any = USE_DEFAULT,
                             summary_dir: str | None = None) -> MonitoredSession:
    """``tf.train.MonitoredTrainingSession``: a session for training, alone or as a worker of a cluster.

    The chief initializes or restores the variables, and writes checkpoints (every 600 s, if nothing else is said) and summaries (every 100 steps);
    the other workers wait for it. All of them go on when a task was lost and is back. Inside the scope of a strategy over several workers each is
    the chief of its own variables, and the first one writes.
    """
    scaffold = scaffold or Scaffold()
    strategy = current_strategy()
    if strategy is not None and strategy.extended.workers > 1:
        master, config = master or strategy.extended.target, strategy.update_config_proto(config or ConfigProto())
        hooks, is_chief = [*(hooks or ()), strategy.extended.make_session_run_hook()], True
        if not strategy.extended.should_checkpoint:
            return MonitoredSession(ChiefSessionCreator(scaffold, master, config), hooks, stop_grace_period_secs)
    if not is_chief:
        creator = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(creator, hooks, stop_grace_period_secs)
    summary_steps, summary_secs = _steps_or_secs(save_summaries_steps, save_summaries_secs, (100, None))
    checkpoint_steps, checkpoint_secs = _steps_or_secs(save_checkpoint_steps, save_checkpoint_secs, (None, 600))
    all_hooks: list[SessionRunHook] = list(chief_only_hooks or ())
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir:
        if _is_positive(log_step_count_steps):
            all_hooks.append(StepCounterHook(every_n_steps=log_step_count_steps, output_dir=summary_dir))
        if _is_positive(summary_steps) or _is_positive(summary_secs):
            all_hooks.append(SummarySaverHook(scaffold=scaffold, save_steps=summary_steps, save_secs=summary_secs, output_dir=summary_dir))
    if checkpoint_dir and (_is_positive(checkpoint_steps) or _is_positive(checkpoint_secs)):
        all_hooks.append(CheckpointSaverHook(checkpoint_dir, save_steps=checkpoint_steps, save_secs=checkpoint_secs, scaffold=scaffold))
    all_hooks.extend(hooks or ())
    return MonitoredSession(ChiefSessionCreator(scaffold, master, config, checkpoint_dir), all_hooks, stop_grace_period_secs)


def _steps_or_secs(steps: Any, secs: Any, default: tuple[Any, Any]) -> tuple[Any, Any]:
    """(steps, seconds): the default only if neither was given."""
    if steps is USE_DEFAULT and secs is USE_DEFAULT:
        return default
    return None if steps is USE_DEFAULT else steps, None if secs is USE_DEFAULT else secs


def _is_positive(value: float | None) -> bool:
    return value is not None and value > 0
