"""Callbacks that watch a value: checkpoints, early stopping, learning rates."""
from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.checkpoint.checkpoint_state import latest_checkpoint
from penstock.keras.callbacks.base import Callback
from penstock.layers.sessions import assign_values, values_of
from penstock.platform import logging


def _direction(mode: str, monitor: str, who: str, larger: tuple[str, ...] = ("acc",)) -> bool:
    """Whether a larger value is better."""
    if mode not in ("auto", "min", "max"):
        logging.warning("%s mode %s is unknown, fallback to auto mode.", who, mode)
        mode = "auto"
    return mode == "max" or (mode == "auto" and any(word in monitor for word in larger))


def _learning_rate(model: Any) -> float:
    if not hasattr(model.optimizer, "lr"):
        raise ValueError('Optimizer must have a "lr" attribute.')
    rate = model.optimizer.lr
    if callable(rate):
        raise ValueError(f"The learning rate of {type(model.optimizer).__name__} is the schedule {type(rate).__name__}, which this callback cannot "
                         "read or change: give the optimizer a number, or leave the callback out.")
    return values_of([rate])[0]


def _takes_two(schedule: Callable[..., Any]) -> bool:
    """Whether a schedule is a function of the epoch and the rate, not of the epoch alone."""
    try:
        inspect.signature(schedule).bind(0, 0.0)
    except (TypeError, ValueError):
        return False
    return True


class TerminateOnNaN(Callback):
    """``tf.keras.callbacks.TerminateOnNaN``."""

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        """Stops if the loss is not a number."""
        loss = (logs or {}).get("loss")
        if loss is not None and not np.isfinite(loss):
            print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True


class EarlyStopping(Callback):
    """``tf.keras.callbacks.EarlyStopping``: stops when a value has not become better for ``patience`` epochs."""

    def __init__(self, monitor: str = "val_loss", min_delta: float = 0, patience: int = 0, verbose: int = 0, mode: str = "auto",
                 baseline: float | None = None, restore_best_weights: bool = False) -> None:
        super().__init__()
        self.monitor, self.patience, self.verbose, self.baseline = monitor, patience, verbose, baseline
        self.restore_best_weights = restore_best_weights
        self.best_weights: list[Any] | None = None
        larger = _direction(mode, monitor, "EarlyStopping")
        self.monitor_op: Callable[..., Any] = np.greater if larger else np.less
        self.min_delta = abs(min_delta) * (1 if larger else -1)
        self.wait = self.stopped_epoch = 0
        self.best: Any = None

    def on_train_begin(self, logs: Any = None) -> None:
        """Starts again."""
        self.wait = self.stopped_epoch = 0
        self.best = self.baseline if self.baseline is not None else np.inf if self.monitor_op is np.less else -np.inf

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Compares the value with the best one."""
        current = self.get_monitor_value(logs)
        if current is None:
            return
        if self.monitor_op(current - self.min_delta, self.best):
            self.best, self.wait = current, 0
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            return
        self.wait += 1
        if self.wait >= self.patience:
            self.stopped_epoch, self.model.stop_training = epoch, True
            if self.restore_best_weights and self.best_weights is not None:
                if self.verbose > 0:
                    print("Restoring model weights from the end of the best epoch.")
                self.model.set_weights(self.best_weights)

    def on_train_end(self, logs: Any = None) -> None:
        """Says when training stopped."""
        if self.stopped_epoch > 0 and self.verbose > 0:
            print(f"Epoch {self.stopped_epoch + 1:05d}: early stopping")

    def get_monitor_value(self, logs: Any) -> Any:
        """The value that is watched; None, with a warning, if it is not there."""
        value = (logs or {}).get(self.monitor)
        if value is None:
            logging.warning("Early stopping conditioned on metric `%s` which is not available. Available metrics are: %s", self.monitor,
                            ",".join(logs or {}))
        return value


class ModelCheckpoint(Callback):
    """``tf.keras.callbacks.ModelCheckpoint``: saves the model, or its weights, after epochs or numbers of samples."""

    def __init__(self, filepath: str, monitor: str = "val_loss", verbose: int = 0, save_best_only: bool = False, save_weights_only: bool = False,
                 mode: str = "auto", save_freq: Any = "epoch", **kwargs: Any) -> None:
        super().__init__()
        if save_freq != "epoch" and not isinstance(save_freq, int):
            raise ValueError(f"Unrecognized save_freq: {save_freq}")
        self.filepath, self.monitor, self.verbose, self.save_freq = os.fspath(filepath), monitor, verbose, save_freq
        self.save_best_only, self.save_weights_only = save_best_only, save_weights_only
        self.load_weights_on_restart, self.period = kwargs.pop("load_weights_on_restart", False), kwargs.pop("period", 1)
        larger = _direction(mode, monitor, "ModelCheckpoint", ("acc", "fmeasure"))
        self.monitor_op: Callable[..., Any] = np.greater if larger else np.less
        self.best: Any = -np.inf if larger else np.inf
        self.epochs_since_last_save = self._samples_seen_since_last_saving = self._current_epoch = 0

    def set_model(self, model: Any) -> None:
        """Subclassed models have no configuration, so their weights alone are saved."""
        self.model = model
        if not model._is_graph_network and type(model).__name__ != "Sequential":
            self.save_weights_only = True

    def on_train_begin(self, logs: Any = None) -> None:
        """Goes on from the last file, if that was asked for."""
        if self.load_weights_on_restart:
            path = self._latest_file()
            if path is not None:
                self.model.load_weights(path)

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        """Saves after a number of samples."""
        if isinstance(self.save_freq, int):
            self._samples_seen_since_last_saving += (logs or {}).get("size", 1)
            if self._samples_seen_since_last_saving >= self.save_freq:
                self._save_model(self._current_epoch, logs)
                self._samples_seen_since_last_saving = 0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Notes the epoch."""
        self._current_epoch = epoch

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Saves after an epoch."""
        self.epochs_since_last_save += 1
        if self.save_freq == "epoch" and self.epochs_since_last_save >= self.period:
            self._save_model(epoch, logs)

    def _save_model(self, epoch: int, logs: Any) -> None:
        logs = logs or {}
        self.epochs_since_last_save = 0
        path = self.filepath.format(epoch=epoch + 1, **logs)
        if self.save_best_only:
            current = logs.get(self.monitor)
            if current is None:
                logging.warning("Can save best model only with %s available, skipping.", self.monitor)
                return
            if not self.monitor_op(current, self.best):
                if self.verbose > 0:
                    print(f"\nEpoch {epoch + 1:05d}: {self.monitor} did not improve from {self.best:0.5f}")
                return
            if self.verbose > 0:
                print(f"\nEpoch {epoch + 1:05d}: {self.monitor} improved from {self.best:0.5f} to {current:0.5f}, saving model to {path}")
            self.best = current
        elif self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: saving model to {path}")
        strategy = getattr(self.model, "_strategy", None)
        if strategy is None or strategy.extended.should_checkpoint:  # of several workers, one saves
            (self.model.save_weights if self.save_weights_only else self.model.save)(path, overwrite=True)

    def _latest_file(self) -> str | None:
        """The newest file whose name fits the pattern."""
        folder, name = os.path.split(self.filepath)
        folder, pattern = folder or ".", f"^{re.sub(r'{.*}', '.*', name)}$"
        checkpoint = latest_checkpoint(folder)
        if checkpoint is not None and re.match(pattern, os.path.basename(checkpoint)):
            return checkpoint
        names = [each for each in os.listdir(folder) if re.match(pattern, each)] if os.path.isdir(folder) else []
        paths = [os.path.join(folder, each) for each in names]
        return max(paths, key=lambda path: (os.path.getmtime(path), path)) if paths else None


class LearningRateScheduler(Callback):
    """``tf.keras.callbacks.LearningRateScheduler``: ``schedule(epoch, rate)`` is the learning rate of an epoch."""

    def __init__(self, schedule: Callable[..., Any], verbose: int = 0) -> None:
        super().__init__()
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Sets the learning rate."""
        now = float(_learning_rate(self.model))
        rate = self.schedule(epoch, now) if _takes_two(self.schedule) else self.schedule(epoch)
        if not isinstance(rate, (float, np.float32, np.float64)):
            raise ValueError('The output of the "schedule" function should be float.')
        assign_values([(self.model.optimizer.lr, rate)])
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: LearningRateScheduler reducing learning rate to {rate}.")

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Reports the learning rate."""
        if logs is not None:
            logs["lr"] = _learning_rate(self.model)


class ReduceLROnPlateau(Callback):
    """``tf.keras.callbacks.ReduceLROnPlateau``: a smaller learning rate when a value has not become better for ``patience`` epochs."""

    def __init__(self, monitor: str = "val_loss", factor: float = 0.1, patience: int = 10, verbose: int = 0, mode: str = "auto",
                 min_delta: float = 1e-4, cooldown: int = 0, min_lr: float = 0, **kwargs: Any) -> None:
        super().__init__()
        if factor >= 1.0:
            raise ValueError("ReduceLROnPlateau does not support a factor >= 1.0.")
        self.monitor, self.factor, self.patience, self.verbose, self.mode = monitor, factor, patience, verbose, mode
        self.min_delta, self.cooldown, self.min_lr = kwargs.pop("epsilon", min_delta), cooldown, min_lr
        self._reset()

    def _reset(self) -> None:
        larger = _direction(self.mode, self.monitor, "Learning Rate Plateau Reducing")
        self.best = -np.inf if larger else np.inf
        self.monitor_op: Callable[..., Any] = (lambda a, b: np.greater(a, b + self.min_delta)) if larger else (
            lambda a, b: np.less(a, b - self.min_delta))
        self.cooldown_counter = self.wait = 0

    def on_train_begin(self, logs: Any = None) -> None:
        """Starts again."""
        self._reset()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Compares the value with the best one."""
        logs = {} if logs is None else logs
        logs["lr"] = _learning_rate(self.model)
        current = logs.get(self.monitor)
        if current is None:
            logging.warning("Reduce LR on plateau conditioned on metric `%s` which is not available. Available metrics are: %s", self.monitor,
                            ",".join(logs))
            return
        if self.in_cooldown():
            self.cooldown_counter -= 1
            self.wait = 0
        if self.monitor_op(current, self.best):
            self.best, self.wait = current, 0
        elif not self.in_cooldown():
            self.wait += 1
            if self.wait >= self.patience:
                self._reduce(epoch)

    def _reduce(self, epoch: int) -> None:
        before = float(_learning_rate(self.model))
        if before > self.min_lr:
            rate = max(before * self.factor, self.min_lr)
            assign_values([(self.model.optimizer.lr, rate)])
            if self.verbose > 0:
                print(f"\nEpoch {epoch + 1:05d}: ReduceLROnPlateau reducing learning rate to {rate}.")
            self.cooldown_counter, self.wait = self.cooldown, 0

    def in_cooldown(self) -> bool:
        """Whether the learning rate was reduced a short while ago."""
        return self.cooldown_counter > 0
