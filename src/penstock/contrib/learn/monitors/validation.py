"""``ValidationMonitor``: evaluates a model while it is trained, and stops the training when it does not get better."""
from __future__ import annotations

import copy
import time
from typing import Any

from penstock.checkpoint.checkpoint_state import latest_checkpoint
from penstock.contrib.learn.monitors.base import EveryN
from penstock.estimator.estimator import Estimator as CoreEstimator
from penstock.platform import logging


class ValidationMonitor(EveryN):
    """``tf.contrib.learn.monitors.ValidationMonitor``: evaluates the latest checkpoint, if it is a new one, every ``every_n_steps`` steps.

    With ``early_stopping_rounds``, the training stops when a metric was not better for so many steps. New checkpoints are looked for at most every
    ``check_interval_secs`` seconds.
    """

    def __init__(self, x: Any = None, y: Any = None, input_fn: Any = None, batch_size: int | None = None, eval_steps: int | None = None,
                 every_n_steps: int = 100, metrics: Any = None, hooks: Any = None, early_stopping_rounds: int | None = None,
                 early_stopping_metric: str = "loss", early_stopping_metric_minimize: bool = True, name: str | None = None,
                 check_interval_secs: float | None = 5) -> None:
        super().__init__(every_n_steps=every_n_steps, first_n_steps=-1)
        if x is None and input_fn is None:
            raise ValueError("Either x or input_fn should be provided.")
        self.x, self.y, self.input_fn, self.batch_size, self.eval_steps = x, y, input_fn, batch_size, eval_steps
        self.metrics, self.hooks, self.name = metrics, hooks, name
        self.early_stopping_rounds, self.early_stopping_metric = early_stopping_rounds, early_stopping_metric
        self.early_stopping_metric_minimize = early_stopping_metric_minimize
        self._check_interval_secs, self._last_check = check_interval_secs, float("-inf")
        self._latest_path: str | None = None
        self._best_step: int | None = None
        self._best_value: Any = None
        self._best_metrics: dict[str, Any] | None = None
        self._early_stopped = False

    early_stopped = property(lambda self: self._early_stopped, doc="Whether it has stopped the training.")
    best_step = property(lambda self: self._best_step, doc="The step of the best evaluation.")
    best_value = property(lambda self: self._best_value, doc="The metric in the best evaluation.")
    best_metrics = property(lambda self: self._best_metrics, doc="All metrics of the best evaluation.")

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool | None:
        """Evaluates, and decides whether to stop."""
        if self._estimator is None:
            raise ValueError("Missing call to set_estimator.")
        now = time.time()
        if self._check_interval_secs is not None and now - self._last_check <= self._check_interval_secs:
            return False
        self._last_check = now
        path = latest_checkpoint(self._estimator.model_dir)
        if path is None or path == self._latest_path:
            logging.debug("Skipping evaluation at step %d: there is no new checkpoint.", step)
            return False
        self._latest_path = path
        results = self._evaluate()
        logging.info("Validation (step %d): %s", step, ", ".join(f"{name} = {value!s}" for name, value in results.items()))
        return self.early_stopping_rounds is not None and self._should_stop(step, results)

    def _evaluate(self) -> dict[str, Any]:
        options = {"input_fn": self.input_fn, "steps": self.eval_steps, "hooks": self.hooks, "name": self.name}
        others = {"x": self.x, "y": self.y, "batch_size": self.batch_size, "metrics": self.metrics}
        if not isinstance(self._estimator, CoreEstimator):
            return self._estimator.evaluate(**options, **others)
        if any(value is not None for value in others.values()):
            raise ValueError("tf.estimator.Estimator does not support following arguments: x, y, batch_size, metrics. Should set as `None` in "
                             "ValidationMonitor")
        return self._estimator.evaluate(**options)

    def _should_stop(self, step: int, results: dict[str, Any]) -> bool:
        if self.early_stopping_metric not in results:
            raise ValueError(f"Metric {self.early_stopping_metric} missing from outputs {set(results)}.")
        value = results[self.early_stopping_metric]
        if self._best_value is None or (value < self._best_value if self.early_stopping_metric_minimize else value > self._best_value):
            self._best_value, self._best_metrics, self._best_step = value, copy.deepcopy(results), step
        if step - int(self._best_step or 0) < int(self.early_stopping_rounds or 0):
            return False
        logging.info("Stopping. Best step: %s with %s = %s.", self._best_step, self.early_stopping_metric, self._best_value)
        self._early_stopped = True
        return True
