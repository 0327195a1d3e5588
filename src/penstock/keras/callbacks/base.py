"""Callback, the list that calls them, and those that every training has: BaseLogger, History, ProgbarLogger."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.keras.utils.progbar import Progbar


class Callback:
    """``tf.keras.callbacks.Callback``: define what is to be done when. ``model`` and ``params`` are set before training."""

    def __init__(self) -> None:
        self.validation_data: Any = None
        self.model: Any = None
        self.params: dict[str, Any] = {}

    def set_params(self, params: dict[str, Any]) -> None:
        """What the training was asked for."""
        self.params = params

    def set_model(self, model: Any) -> None:
        """The model that is trained."""
        self.model = model

    def on_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Before a batch of training."""

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        """After a batch of training."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Before an epoch."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """After an epoch and its validation."""

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Before a batch of training."""
        self.on_batch_begin(batch, logs=logs)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """After a batch of training."""
        self.on_batch_end(batch, logs=logs)

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Before a batch of an evaluation."""

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """After a batch of an evaluation."""

    def on_predict_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Before a batch of predictions."""

    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
        """After a batch of predictions."""

    def on_train_begin(self, logs: Any = None) -> None:
        """Before training."""

    def on_train_end(self, logs: Any = None) -> None:
        """After training."""

    def on_test_begin(self, logs: Any = None) -> None:
        """Before an evaluation."""

    def on_test_end(self, logs: Any = None) -> None:
        """After an evaluation."""

    def on_predict_begin(self, logs: Any = None) -> None:
        """Before predictions."""

    def on_predict_end(self, logs: Any = None) -> None:
        """After predictions."""


def _defines(callback: Any, hook: str) -> bool:
    """Whether a callback does something at a hook of batches: small batches must not wait for those that do not."""
    def own(name: str) -> bool:
        method = getattr(callback, name, None)
        return method is not None and getattr(method, "__func__", method) is not getattr(Callback, name)

    return own(hook) or (hook.startswith("on_train_batch") and own(hook.replace("train_", "")))


class CallbackList:
    """Several callbacks as one."""

    def __init__(self, callbacks: Iterable[Any] = (), queue_length: int = 10) -> None:
        self.callbacks: list[Any] = list(callbacks)
        self.params: dict[str, Any] = {}
        self.model: Any = None

    def append(self, callback: Any) -> None:
        """Adds a callback."""
        self.callbacks.append(callback)

    def set_params(self, params: dict[str, Any]) -> None:
        """Tells all what the training was asked for."""
        self.params = params
        for callback in self.callbacks:
            callback.set_params(params)

    def set_model(self, model: Any) -> None:
        """Tells all the model."""
        self.model = model
        for callback in self.callbacks:
            callback.set_model(model)

    def batch_hooks(self, mode: str, when: str) -> list[Callable[..., None]]:
        """The methods ``on_{mode}_batch_{when}`` of those callbacks that define them."""
        hook = f"on_{mode}_batch_{when}"
        return [getattr(each, hook) for each in self.callbacks if _defines(each, hook)]

    def _all(self, hook: str, *args: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, hook)(*args)

    def begin(self, mode: str) -> None:
        """Calls ``on_{mode}_begin``, without logs, as TensorFlow does."""
        self._all(f"on_{mode}_begin", None)

    def end(self, mode: str) -> None:
        """Calls ``on_{mode}_end``."""
        self._all(f"on_{mode}_end", None)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Before an epoch."""
        self._all("on_epoch_begin", epoch, {} if logs is None else logs)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """After an epoch."""
        self._all("on_epoch_end", epoch, {} if logs is None else logs)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.callbacks)


class BaseLogger(Callback):
    """``tf.keras.callbacks.BaseLogger``: the mean of what batches report, weighted by their sizes."""

    def __init__(self, stateful_metrics: Iterable[str] | None = None) -> None:
        super().__init__()
        self.stateful_metrics = set(stateful_metrics or ())
        self.seen = 0
        self.totals: dict[str, Any] = {}

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Starts again."""
        self.seen, self.totals = 0, {}

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        """Adds a batch."""
        logs = logs or {}
        size = logs.get("size", 0)
        self.seen += size * logs.get("num_steps", 1)
        for name, value in logs.items():
            self.totals[name] = value if name in self.stateful_metrics else self.totals.get(name, 0) + value * size

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Puts the means into the logs of the epoch."""
        for name in self.params["metrics"] if logs is not None else ():
            if name in self.totals:
                logs[name] = self.totals[name] if name in self.stateful_metrics else self.totals[name] / self.seen


class History(Callback):
    """``tf.keras.callbacks.History``: ``history`` has the values of each epoch, ``epoch`` the numbers of the epochs."""

    def __init__(self) -> None:
        super().__init__()
        self.epoch: list[int] = []
        self.history: dict[str, list[Any]] = {}

    def on_train_begin(self, logs: Any = None) -> None:
        """Starts again."""
        self.epoch, self.history = [], {}

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Adds an epoch."""
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)


class ProgbarLogger(Callback):
    """``tf.keras.callbacks.ProgbarLogger``: the progress bar, counting samples or steps."""

    def __init__(self, count_mode: str = "samples", stateful_metrics: Iterable[str] | None = None) -> None:
        super().__init__()
        if count_mode not in ("samples", "steps"):
            raise ValueError(f"Unknown `count_mode`: {count_mode}")
        self.use_steps, self.stateful_metrics = count_mode == "steps", set(stateful_metrics or ())
        self.verbose, self.epochs, self.seen = 0, 1, 0
        self.log_values: list[tuple[str, Any]] = []

    def on_train_begin(self, logs: Any = None) -> None:
        """Takes its settings."""
        self.verbose, self.epochs = self.params["verbose"], self.params["epochs"]

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Begins a bar."""
        self.seen = 0
        self.target = self.params["steps" if self.use_steps else "samples"]
        if self.verbose and self.epochs > 1:
            print(f"Epoch {epoch + 1}/{self.epochs}")
        self.progbar = Progbar(target=self.target, verbose=self.verbose, stateful_metrics=self.stateful_metrics,
                               unit_name="step" if self.use_steps else "sample")

    def on_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Forgets the values of the last batch."""
        self.log_values = []

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        """Moves the bar."""
        logs = logs or {}
        steps = logs.get("num_steps", 1)
        self.seen += steps if self.use_steps else logs.get("size", 0) * steps
        self.log_values += [(name, logs[name]) for name in self.params["metrics"] if name in logs]
        if self.verbose and (self.target is None or self.seen < self.target):
            self.progbar.update(self.seen, self.log_values)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Finishes the bar."""
        logs = logs or {}
        self.log_values += [(name, logs[name]) for name in self.params["metrics"] if name in logs]
        if self.verbose:
            self.progbar.update(self.seen, self.log_values)
