"""Monitors that watch a training: they stop it, print and keep tensors, measure its speed, look for NaN."""
from __future__ import annotations

import time
from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import Summary

from penstock.contrib.learn.monitors.base import BaseMonitor, EveryN, output_of
from penstock.graph.graph import default_graph
from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import get_collection
from penstock.platform import logging
from penstock.summary.file_writer import FileWriterCache
from penstock.train.basic_hooks import NanLossDuringTrainingError


class StopAtStep(BaseMonitor):
    """``tf.contrib.learn.monitors.StopAtStep``: stops after ``num_steps`` steps, or at step ``last_step``; in all workers."""

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        super().__init__()
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps, self._last_step = num_steps, last_step

    @property
    def run_on_all_workers(self) -> bool:
        """Yes."""
        return True

    def step_begin(self, step: int) -> list[Any]:
        """Finds out which step is the last one."""
        super().step_begin(step)
        if self._last_step is None:
            self._last_step = step + int(self._num_steps or 0) - 1
        return []

    def step_end(self, step: int, output: dict[Any, Any]) -> bool | None:
        """Stops at the last step."""
        super().step_end(step, output)
        return self._last_step is not None and step >= self._last_step


class _NamedTensors(EveryN):
    """Logs tensors by name."""

    prefix = ""

    def names(self) -> dict[str, str]:
        """{what it is called in the log: tensor}."""
        raise NotImplementedError(f"{type(self).__name__}.names")

    def every_n_step_begin(self, step: int) -> list[Any]:
        """Asks for the tensors."""
        self._names = self.names()
        return list(self._names.values())

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool | None:
        """Logs them."""
        values = [f"{tag} = {output_of(outputs, name)}" for tag, name in self._names.items()]
        logging.info("%sStep %d: %s", self.prefix, step, ", ".join(values))
        return False


class PrintTensor(_NamedTensors):
    """``tf.contrib.learn.monitors.PrintTensor``: logs tensors; a dict gives them other names in the log."""

    def __init__(self, tensor_names: Any, every_n: int = 100, first_n: int = 1) -> None:
        super().__init__(every_n, first_n)
        self._tensor_names = tensor_names if isinstance(tensor_names, dict) else {name: name for name in tensor_names}

    def names(self) -> dict[str, str]:
        """The given ones."""
        return self._tensor_names


class LoggingTrainable(_NamedTensors):
    """``tf.contrib.learn.monitors.LoggingTrainable``: logs the values of the variables that are trained."""

    prefix = "Logging Trainable: "

    def __init__(self, scope: str | None = None, every_n: int = 100, first_n: int = 1) -> None:
        super().__init__(every_n, first_n)
        self._scope = scope

    def names(self) -> dict[str, str]:
        """Those in the scope."""
        return {variable.name: variable.value().name for variable in get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=self._scope)}


class CaptureVariable(EveryN):
    """``tf.contrib.learn.monitors.CaptureVariable``: keeps the values of a variable, by step."""

    def __init__(self, var_name: str, every_n: int = 100, first_n: int = 1) -> None:
        super().__init__(every_n, first_n)
        self._var_name = var_name
        self._values: dict[int, Any] = {}

    @property
    def values(self) -> dict[int, Any]:
        """{step: value}."""
        return self._values

    def every_n_step_begin(self, step: int) -> list[Any]:
        """Asks for the variable."""
        return [self._var_name]

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool | None:
        """Keeps its value."""
        self._values[step] = output_of(outputs, self._var_name)
        return False


class NanLoss(EveryN):
    """``tf.contrib.learn.monitors.NanLoss``: fails, or stops, when the loss is NaN."""

    def __init__(self, loss_tensor: Any, every_n_steps: int = 100, fail_on_nan_loss: bool = True) -> None:
        super().__init__(every_n_steps=every_n_steps)
        self._loss_tensor, self._fail_on_nan_loss = loss_tensor, fail_on_nan_loss

    def every_n_step_begin(self, step: int) -> list[Any]:
        """Asks for the loss."""
        return [self._loss_tensor]

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool | None:
        """Looks at it."""
        if not np.isnan(output_of(outputs, self._loss_tensor)):
            return False
        if self._fail_on_nan_loss:
            logging.error("Model diverged with loss = NaN.")
            raise NanLossDuringTrainingError
        logging.warning("Model diverged with loss = NaN.")
        return True


class StepCounter(EveryN):
    """``tf.contrib.learn.monitors.StepCounter``: writes steps per second to an event file."""

    def __init__(self, every_n_steps: int = 100, output_dir: str | None = None, summary_writer: Any = None) -> None:
        super().__init__(every_n_steps=every_n_steps)
        self._writer = FileWriterCache.get(output_dir) if summary_writer is None and output_dir else summary_writer
        self._reported: tuple[int, float] | None = None

    def set_estimator(self, estimator: Any) -> None:
        """The event file is in the folder of the estimator, if no other is given."""
        super().set_estimator(estimator)
        self._writer = FileWriterCache.get(estimator.model_dir) if self._writer is None else self._writer

    def every_n_step_end(self, current_step: int, outputs: dict[Any, Any]) -> bool | None:
        """Writes the speed since it was here before."""
        now = time.time()
        if self._reported is not None and self._writer:
            speed = (current_step - self._reported[0]) / max(now - self._reported[1], 1e-9)
            self._writer.add_summary(Summary(value=[Summary.Value(tag="global_step/sec", simple_value=speed)]), current_step)
        self._reported = current_step, now
        return False


class GraphDump(BaseMonitor):
    """``tf.contrib.learn.monitors.GraphDump``: keeps the outputs of all operations of every step, to compare two trainings."""

    IGNORE_OPS = ["Const", "Assign", "Identity", "Placeholder", "RandomUniform", "Cast", "RestoreSlice"]

    def __init__(self, ignore_ops: list[str] | None = None) -> None:
        super().__init__()
        self._ignore_ops = ignore_ops or self.IGNORE_OPS
        self._data: dict[int, dict[Any, Any]] = {}

    @property
    def data(self) -> dict[int, dict[Any, Any]]:
        """{step: {name of a tensor: value}}."""
        return self._data

    def begin(self, max_steps: int | None = None) -> None:
        """Finds the first outputs of the operations."""
        super().begin(max_steps=max_steps)
        shown = [op for op in default_graph().get_operations() if op.type not in self._ignore_ops]
        for op in shown:
            logging.info("op=%s name=%s.", op.type, op.name)
        self._tensors = [op.outputs[0].name for op in shown if op.outputs and default_graph().is_fetchable(op.outputs[0])]

    def step_begin(self, step: int) -> list[Any]:
        """Asks for all of them."""
        super().step_begin(step)
        return list(self._tensors)

    def step_end(self, step: int, output: dict[Any, Any]) -> bool | None:
        """Keeps them."""
        super().step_end(step, output)
        self._data[step] = output
        return False

    def compare(self, other_dump: GraphDump, step: int, atol: float = 1e-06) -> tuple[list[str], dict[str, Any]]:
        """(names of tensors that are equal, {name: difference}) of a step of two trainings."""
        mine, theirs = self.data.get(step, {}), other_dump.data.get(step, {})
        equal, different = [], {}
        for name, value in mine.items():
            if name not in theirs:
                raise ValueError(f"{name} missing at step {step}.")
            array = np.asarray(value)
            if array.dtype.kind in "OSU":
                continue
            if np.allclose(array, theirs[name], atol=atol):
                equal.append(name)
            else:
                different[name] = value - theirs[name] if array.ndim else (value, theirs[name])
        return equal, different
