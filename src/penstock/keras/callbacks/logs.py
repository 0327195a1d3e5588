"""Callbacks that write down what happens: CSV files, functions of the user, a server."""
from __future__ import annotations

import csv
import json
import os
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from penstock.keras.callbacks.base import Callback
from penstock.platform import logging


class CSVLogger(Callback):
    """``tf.keras.callbacks.CSVLogger``: a row per epoch."""

    def __init__(self, filename: str, separator: str = ",", append: bool = False) -> None:
        super().__init__()
        self.filename, self.sep, self.append = filename, separator, append
        self.writer: Any = None
        self.keys: list[str] | None = None
        self.append_header = True

    def on_train_begin(self, logs: Any = None) -> None:
        """Opens the file."""
        if self.append and os.path.exists(self.filename):
            with open(self.filename, encoding="utf-8") as file:
                self.append_header = not file.readline()
        self.csv_file = open(self.filename, "a" if self.append else "w", newline="\n", encoding="utf-8")  # noqa: SIM115 (closed at the end)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Writes a row."""
        logs = dict(logs or {})
        if self.keys is None:
            self.keys = sorted(logs)
        if self.model.stop_training:
            logs = {key: logs.get(key, "NA") for key in self.keys}
        if self.writer is None:
            self.writer = csv.DictWriter(self.csv_file, ["epoch", *self.keys], delimiter=self.sep)
            if self.append_header:
                self.writer.writeheader()
        self.writer.writerow({"epoch": epoch, **{key: _cell(logs[key]) for key in self.keys}})
        self.csv_file.flush()

    def on_train_end(self, logs: Any = None) -> None:
        """Closes the file."""
        self.csv_file.close()
        self.writer = None


def _cell(value: Any) -> Any:
    several = isinstance(value, Iterable) and not isinstance(value, str) and not (isinstance(value, np.ndarray) and value.ndim == 0)
    return f'"[{", ".join(map(str, value))}]"' if several else value


class LambdaCallback(Callback):
    """``tf.keras.callbacks.LambdaCallback``: functions as a callback."""

    def __init__(self, on_epoch_begin: Callable[..., Any] | None = None, on_epoch_end: Callable[..., Any] | None = None,
                 on_batch_begin: Callable[..., Any] | None = None, on_batch_end: Callable[..., Any] | None = None,
                 on_train_begin: Callable[..., Any] | None = None, on_train_end: Callable[..., Any] | None = None, **kwargs: Any) -> None:
        super().__init__()
        self.__dict__.update(kwargs)
        given = {"on_epoch_begin": on_epoch_begin, "on_epoch_end": on_epoch_end, "on_batch_begin": on_batch_begin, "on_batch_end": on_batch_end,
                 "on_train_begin": on_train_begin, "on_train_end": on_train_end}
        self.__dict__.update({name: function for name, function in given.items() if function is not None})


class RemoteMonitor(Callback):
    """``tf.keras.callbacks.RemoteMonitor``: posts the values of each epoch to a server."""

    def __init__(self, root: str = "http://localhost:9000", path: str = "/publish/epoch/end/", field: str = "data",
                 headers: dict[str, str] | None = None, send_as_json: bool = False) -> None:
        super().__init__()
        self.root, self.path, self.field, self.headers, self.send_as_json = root, path, field, headers, send_as_json

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Posts the values."""
        text = json.dumps({"epoch": epoch, **{key: float(value) for key, value in (logs or {}).items()}})
        if self.send_as_json:
            body, kind = text.encode(), "application/json"
        else:
            body, kind = urllib.parse.urlencode({self.field: text}).encode(), "application/x-www-form-urlencoded"
        request = urllib.request.Request(self.root + self.path, body, {"Content-Type": kind, **(self.headers or {})})
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                response.read()
        except OSError:
            logging.warning("Warning: could not reach RemoteMonitor root server at %s", self.root)
