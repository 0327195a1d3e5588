"""RunConfig: where a model is kept, how often it is saved, and which task of which cluster this process is (from TF_CONFIG)."""
from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from typing import Any

from tensorboard.compat.proto.config_pb2 import ConfigProto

from penstock.estimator.tasks import ConfiguredTask, TaskType, task_from, worker_of
from penstock.platform import logging
from penstock.platform.inspection import fn_args
from penstock.train.scaffold import USE_DEFAULT
from penstock.train.strategies import Strategy

_REPLACEABLE = ["model_dir", "tf_random_seed", "save_summary_steps", "save_checkpoints_steps", "save_checkpoints_secs", "session_config",
                "keep_checkpoint_max", "keep_checkpoint_every_n_hours", "log_step_count_steps", "train_distribute", "device_fn", "protocol",
                "eval_distribute", "experimental_distribute", "experimental_max_worker_delay_secs", "session_creation_timeout_secs"]
_BOTH_SET = "`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set."
# (property, condition, message): None is always allowed.
_CONDITIONS: list[tuple[str, Callable[[Any], bool], str]] = [
    ("model_dir", bool, "model_dir should be non-empty"),
    ("save_summary_steps", lambda steps: steps >= 0, "save_summary_steps should be >= 0"),
    ("save_checkpoints_steps", lambda steps: steps >= 0, "save_checkpoints_steps should be >= 0"),
    ("save_checkpoints_secs", lambda seconds: seconds >= 0, "save_checkpoints_secs should be >= 0"),
    ("session_config", lambda config: isinstance(config, ConfigProto), "session_config must be instance of ConfigProto"),
    ("keep_checkpoint_max", lambda number: number >= 0, "keep_checkpoint_max should be >= 0"),
    ("keep_checkpoint_every_n_hours", lambda hours: hours > 0, "keep_checkpoint_every_n_hours should be > 0"),
    ("log_step_count_steps", lambda steps: steps > 0, "log_step_count_steps should be > 0"),
    ("tf_random_seed", lambda seed: isinstance(seed, int), "tf_random_seed must be integer."),
    ("experimental_max_worker_delay_secs", lambda delay: isinstance(delay, int), "experimental_max_worker_delay_secs must be an integer if set."),
    ("session_creation_timeout_secs", lambda seconds: seconds > 0, "session_creation_timeout_secs should be > 0"),
    ("device_fn", lambda fn: callable(fn) and set(fn_args(fn)) == {"op"}, 'device_fn must be callable with exactly one argument "op".'),
    ("protocol", lambda protocol: protocol in ("grpc", "grpc+verbs"), "protocol should be grpc or grpc+verbs"),
]
# With which jobs the sessions of a task talk: workers with parameter servers, never with each other.
_FILTERS = {TaskType.MASTER: ["/job:ps", "/job:master"], TaskType.CHIEF: ["/job:ps", "/job:chief"],
            TaskType.PS: ["/job:ps", "/job:worker", "/job:chief", "/job:master"]}


class RunConfig(ConfiguredTask):
    """``tf.estimator.RunConfig``: the surroundings of an Estimator. The properties of the task come from the TF_CONFIG variable."""

    model_dir: str | None
    tf_random_seed: int | None
    save_summary_steps: int | None
    save_checkpoints_steps: int | None
    save_checkpoints_secs: float | None
    session_config: Any
    keep_checkpoint_max: int | None
    keep_checkpoint_every_n_hours: float
    log_step_count_steps: int | None
    train_distribute: Any
    eval_distribute: Any
    device_fn: Any
    protocol: str | None
    experimental_max_worker_delay_secs: int | None
    session_creation_timeout_secs: float
    service: dict[str, Any] | None

    def __init__(self, model_dir: Any = None, tf_random_seed: int | None = None, save_summary_steps: int | None = 100,
                 save_checkpoints_steps: Any = USE_DEFAULT, save_checkpoints_secs: Any = USE_DEFAULT, session_config: Any = None,
                 keep_checkpoint_max: int | None = 5, keep_checkpoint_every_n_hours: float = 10000, log_step_count_steps: int | None = 100,
                 train_distribute: Any = None, device_fn: Any = None, protocol: str | None = None, eval_distribute: Any = None,
                 experimental_distribute: Any = None, experimental_max_worker_delay_secs: int | None = None,
                 session_creation_timeout_secs: float = 7200) -> None:
        if experimental_distribute is not None:
            train_distribute = train_distribute or experimental_distribute.train_distribute
            eval_distribute = eval_distribute or experimental_distribute.eval_distribute
        if save_checkpoints_steps is USE_DEFAULT and save_checkpoints_secs is USE_DEFAULT:
            save_checkpoints_secs = 600
        elif USE_DEFAULT not in (save_checkpoints_steps, save_checkpoints_secs) and None not in (save_checkpoints_steps, save_checkpoints_secs):
            raise ValueError(_BOTH_SET)
        tf_config = environment()
        self._set(
            model_dir=chosen_model_dir(tf_config, None if model_dir is None else os.fspath(model_dir)), tf_random_seed=tf_random_seed,
            save_summary_steps=save_summary_steps, save_checkpoints_steps=_unless_default(save_checkpoints_steps),
            save_checkpoints_secs=_unless_default(save_checkpoints_secs), session_config=session_config, keep_checkpoint_max=keep_checkpoint_max,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours, log_step_count_steps=log_step_count_steps,
            train_distribute=train_distribute, device_fn=device_fn, protocol=protocol, eval_distribute=eval_distribute,
            experimental_distribute=experimental_distribute,
            experimental_max_worker_delay_secs=experimental_max_worker_delay_secs, session_creation_timeout_secs=session_creation_timeout_secs)
        spans_workers = isinstance(train_distribute, Strategy) and train_distribute.extended.workers > 1
        task = worker_of(train_distribute) if spans_workers else task_from(tf_config)
        self._set(service=_checked_service(tf_config.get("service")), **vars(task))
        if self.session_config is None and self.cluster_spec:
            self._set(session_config=_session_config(self.task_type, self.task_id))

    def _set(self, **properties: Any) -> None:
        for name, value in properties.items():
            self.__dict__["_" + name] = value
        for name, condition, message in _CONDITIONS:
            value = self.__dict__.get("_" + name)
            if value is not None and not condition(value):
                raise ValueError(message)

    def __getattr__(self, name: str) -> Any:
        """Properties are kept behind an underscore: they are not set by accident, and ``vars`` shows them as TensorFlow's."""
        if name.startswith("_") or "_" + name not in self.__dict__:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return self.__dict__["_" + name]

    def __setattr__(self, name: str, value: Any) -> None:
        if "_" + name in self.__dict__:
            raise AttributeError(f"can't set attribute {name!r}: use replace()")
        super().__setattr__(name, value)

    def replace(self, **kwargs: Any) -> RunConfig:
        """A copy with other properties. Those of the task cannot be replaced."""
        for name in kwargs:
            if name not in _REPLACEABLE:
                raise ValueError(f"Replacing {name} is not supported. Allowed properties are {_REPLACEABLE}.")
        steps, seconds = kwargs.get("save_checkpoints_steps"), kwargs.get("save_checkpoints_secs")
        if steps is not None and seconds is not None:
            raise ValueError(_BOTH_SET)
        if steps is not None:
            kwargs["save_checkpoints_secs"] = None
        elif seconds is not None:
            kwargs["save_checkpoints_steps"] = None
        other = copy.deepcopy(self)
        other._set(**kwargs)
        return other


def _unless_default(value: Any) -> Any:
    return None if value is USE_DEFAULT else value


def environment(takes_empty: bool = False) -> dict[str, Any]:
    """What the TF_CONFIG variable says."""
    text = os.environ.get("TF_CONFIG", "{}") or ("{}" if takes_empty else "")
    try:
        tf_config: dict[str, Any] = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"The TF_CONFIG environment variable must be JSON ({error.msg}): {text or 'it is empty; unset it, or set it to {}'}"
        raise json.JSONDecodeError(message, text, error.pos) from error
    _check_object("TF_CONFIG", tf_config)
    for name in ("cluster", "task"):
        _check_object(f'"{name}" in TF_CONFIG', tf_config.get(name, {}))
    if tf_config:
        logging.info("TF_CONFIG environment variable: %s", tf_config)
    return tf_config


class NotAnObject(ValueError, AttributeError, TypeError):
    """A part of TF_CONFIG is not a JSON object. TensorFlow 1.15 raises AttributeError or TypeError, for the dict that it is not."""


def _check_object(name: str, value: Any) -> None:
    if not isinstance(value, dict):
        raise NotAnObject(f"{name} must be a JSON object ({{...}}), not {value!r}.")


def _checked_service(service: Any) -> Any:
    if service is not None and not isinstance(service, dict):
        raise TypeError(f'If "service" is set in TF_CONFIG, it must be a dict. Given {type(service)}')
    return service


def chosen_model_dir(tf_config: dict[str, Any], model_dir: str | None) -> str | None:
    """The folder of the model, which the program or TF_CONFIG names."""
    named = tf_config.get("model_dir")
    if model_dir == "":
        raise ValueError("model_dir should be non-empty.")
    if named == "":
        raise ValueError("model_dir in TF_CONFIG should be non-empty.")
    if named and model_dir and named != model_dir:
        raise ValueError("`model_dir` provided in RunConfig construct, if set, must have the same value as the model_dir in TF_CONFIG. "
                         f"model_dir: {model_dir}\nTF_CONFIG[\"model_dir\"]: {named}.\n")
    if named:
        logging.info("Using model_dir in TF_CONFIG: %s", named)
    return model_dir or named


def default_session_config() -> ConfigProto:
    """The configuration of sessions outside of clusters."""
    config = ConfigProto(allow_soft_placement=True)
    config.graph_options.rewrite_options.meta_optimizer_iterations = 1
    return config


def _session_config(job: str, index: int) -> ConfigProto | None:
    """The configuration of sessions in a cluster; None for an evaluator, which is in none."""
    filters = ["/job:ps", f"/job:worker/task:{index}"] if job == TaskType.WORKER else _FILTERS.get(job)
    if filters is None:
        return None
    config = default_session_config()
    config.device_filters.extend(filters)
    return config
