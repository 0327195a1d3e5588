"""``learn_runner.run``: makes an Experiment and runs the part of it that this process has in its cluster."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.contrib.learn.experiment import Experiment
from penstock.contrib.learn.keys import TaskType
from penstock.contrib.learn.run_config import RunConfig
from penstock.contrib.training.hparams import HParams
from penstock.platform import logging

_SCHEDULES = {TaskType.MASTER: "train_and_evaluate", TaskType.PS: "run_std_server", TaskType.WORKER: "train"}


def run(experiment_fn: Callable[..., Experiment], output_dir: str | None = None, schedule: str | None = None, run_config: Any = None,
        hparams: Any = None) -> Any:
    """``learn_runner.run``: calls a method of the experiment, by default the one for the job of this task.

    The experiment comes from ``experiment_fn(run_config, hparams)``, or from ``experiment_fn(output_dir)``.
    """
    if output_dir is not None and run_config is not None:
        raise ValueError("Cannot provide both `output_dir` and `run_config`")
    if output_dir is None and run_config is None:
        raise ValueError("Must set value for `output_dir` or `run_config`")
    if not callable(experiment_fn):
        raise TypeError(f'Experiment builder "{experiment_fn}" is not callable.')
    if run_config is not None:
        experiment = _checked_experiment_fn(experiment_fn)(run_config, hparams)
    else:
        if not output_dir:
            raise ValueError("Must specify an output directory")
        if hparams is not None:
            raise ValueError("Must set `hparams` as None for `experiment_fn` with `output_dir`.")
        experiment = _check(experiment_fn(output_dir=output_dir))
    return _call_schedule(experiment, schedule or _default_schedule(run_config or experiment.estimator.config))


def tune(experiment_fn: Callable[..., Experiment], tuner: Any) -> None:
    """``learn_runner.tune``: runs an experiment for each trial of a tuner."""
    while tuner.next_trial():
        tuner.run_experiment(_checked_experiment_fn(experiment_fn, require_hparams=True))


def _check(experiment: Any) -> Experiment:
    if not isinstance(experiment, Experiment):
        raise TypeError(f"Experiment builder did not return an Experiment instance, got {type(experiment)} instead.")
    return experiment


def _checked_experiment_fn(experiment_fn: Callable[..., Experiment], require_hparams: bool = False) -> Callable[[Any, Any], Experiment]:
    """A function that makes the experiment, and checks that its estimator has the configuration that was given."""
    def checked(run_config: Any, hparams: Any) -> Experiment:
        if not isinstance(run_config, RunConfig):
            raise ValueError("`run_config` must be `tf.contrib.learn.RunConfig` instance")
        if not run_config.model_dir:
            raise ValueError("Must specify a model directory `model_dir` in `run_config`.")
        if hparams is not None and not isinstance(hparams, HParams):
            raise ValueError("`hparams` must be `HParams` instance")
        if require_hparams and hparams is None:
            raise ValueError("`hparams` cannot be `None`.")
        expected = run_config.uid()
        experiment = _check(experiment_fn(run_config, hparams))
        config = experiment.estimator.config
        if not hasattr(config, "uid"):
            raise RuntimeError("Pass `run_config` argument of the `experiment_fn` to the Estimator in Experiment. It is likely a different "
                               "`RunConfig` is passed to `Estimator` or the `config` constructor argument in `Estimator` is not set.")
        if config.uid() != expected:
            raise RuntimeError(f"`RunConfig` instance is expected to be used by the `Estimator` inside the `Experiment`. expected {expected}, but "
                               f"got {config.uid()}")
        return experiment
    return checked


def _call_schedule(experiment: Experiment, schedule: str) -> Any:
    method = getattr(experiment, schedule, None)
    if not callable(method):
        known = [name for name in dir(experiment) if not name.startswith("_") and callable(getattr(experiment, name))]
        logging.error("Allowed values for this experiment are: %s", known)
        if not hasattr(experiment, schedule):
            raise ValueError(f"Schedule references non-existent task {schedule}. There are {known}.")
        raise TypeError(f"Schedule references non-callable member {schedule}. There are {known}.")
    return method()


def _default_schedule(config: Any) -> str:
    """The method for the job of this task."""
    if not config or len(config.cluster_spec.addresses()) <= 1:
        return "train_and_evaluate"
    if not config.task_type:
        raise ValueError("Must specify a schedule")
    if config.task_type not in _SCHEDULES:
        raise ValueError(f"No default schedule for task type: {config.task_type}")
    return _SCHEDULES[config.task_type]
