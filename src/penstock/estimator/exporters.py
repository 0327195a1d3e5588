"""Exporters: what is exported after an evaluation of ``train_and_evaluate``: the last model, each one, or each that is better than those before."""
from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Callable
from typing import Any

from penstock.platform import logging
from penstock.platform.inspection import fn_args, has_kwargs
from penstock.summary.reading import scalar_results


class Exporter:
    """``tf.estimator.Exporter``: a kind of export. Subclasses have a ``name``, which is the name of its folder, and ``export``."""

    @property
    def name(self) -> str:
        """The folder of the exports, below ``export``."""
        raise NotImplementedError(f"{type(self).__name__}.name")

    def export(self, estimator: Any, export_path: str, checkpoint_path: str, eval_result: dict[str, Any], is_the_final_export: bool) -> Any:
        """Exports the checkpoint that gave ``eval_result``, or not; returns the path of the export or None."""
        raise NotImplementedError(f"{type(self).__name__}.export")


class _SavedModelExporter(Exporter):
    def __init__(self, name: str, serving_input_receiver_fn: Any, assets_extra: Any = None, as_text: bool = False) -> None:
        self._name, self._receiver_fn, self._assets_extra, self._as_text = name, serving_input_receiver_fn, assets_extra, as_text

    @property
    def name(self) -> str:
        """The folder of the exports."""
        return self._name

    def _export(self, estimator: Any, export_path: str, checkpoint_path: str) -> Any:
        return estimator.export_saved_model(export_path, self._receiver_fn, assets_extra=self._assets_extra, as_text=self._as_text,
                                            checkpoint_path=checkpoint_path)


class FinalExporter(_SavedModelExporter):
    """``tf.estimator.FinalExporter``: exports at the end of training only."""

    def export(self, estimator: Any, export_path: str, checkpoint_path: str, eval_result: dict[str, Any], is_the_final_export: bool) -> Any:
        """Exports if training is over."""
        if not is_the_final_export:
            return None
        logging.info("Performing the final export in the end of training.")
        return self._export(estimator, export_path, checkpoint_path)


class LatestExporter(_SavedModelExporter):
    """``tf.estimator.LatestExporter``: exports after every evaluation, and keeps the last few exports."""

    def __init__(self, name: str, serving_input_receiver_fn: Any, assets_extra: Any = None, as_text: bool = False,
                 exports_to_keep: int | None = 5) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)
        self._exports_to_keep = _checked_number(exports_to_keep)

    def export(self, estimator: Any, export_path: str, checkpoint_path: str, eval_result: dict[str, Any], is_the_final_export: bool) -> Any:
        """Exports, and removes old exports."""
        path = self._export(estimator, export_path, checkpoint_path)
        remove_old_exports(export_path, self._exports_to_keep)
        return path


def loss_smaller(best_eval_result: dict[str, Any], current_eval_result: dict[str, Any]) -> bool:
    """Whether the loss of the second result is smaller than that of the first."""
    for what, result in (("best_eval_result", best_eval_result), ("current_eval_result", current_eval_result)):
        if not result or "loss" not in result:
            raise ValueError(f"{what} cannot be empty or no loss is found in it.")
    return bool(best_eval_result["loss"] > current_eval_result["loss"])


class BestExporter(_SavedModelExporter):
    """``tf.estimator.BestExporter``: exports when an evaluation is better than all before; also those of an earlier run, from its event files."""

    def __init__(self, name: str = "best_exporter", serving_input_receiver_fn: Any = None, event_file_pattern: str | None = "eval/*.tfevents.*",
                 compare_fn: Callable[..., bool] = loss_smaller, assets_extra: Any = None, as_text: bool = False,
                 exports_to_keep: int | None = 5) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)
        if compare_fn is None:
            raise ValueError("`compare_fn` must not be None.")
        missing = [] if has_kwargs(compare_fn) else [name for name in ("best_eval_result", "current_eval_result") if name not in fn_args(compare_fn)]
        if missing:
            raise ValueError(f"compare_fn ({compare_fn}) must include {missing[0]} argument.")
        self._compare_fn, self._pattern = compare_fn, event_file_pattern
        self._exports_to_keep = _checked_number(exports_to_keep)
        self._best: dict[str, Any] | None = None
        self._model_dir: str | None = None  # whose event files were read

    def export(self, estimator: Any, export_path: str, checkpoint_path: str, eval_result: dict[str, Any], is_the_final_export: bool) -> Any:
        """Exports if there is no better result."""
        if self._pattern and self._model_dir != estimator.model_dir:
            logging.info("Loading best metric from event files.")
            self._model_dir = estimator.model_dir
            self._best = self._best_in_event_files(os.path.join(estimator.model_dir, self._pattern))
        if self._best is not None and not self._compare_fn(best_eval_result=self._best, current_eval_result=eval_result):
            return None
        logging.info("Performing best model export.")
        self._best = eval_result
        path = self._export(estimator, export_path, checkpoint_path)
        remove_old_exports(export_path, self._exports_to_keep)
        return path

    def _best_in_event_files(self, pattern: str) -> dict[str, Any] | None:
        """The best result in the event files. As in TensorFlow, that of this evaluation is there already: a first one is not better than itself."""
        best: dict[str, Any] | None = None
        for path in sorted(glob.glob(pattern)):
            for _, result in scalar_results(path):
                if best is None or self._compare_fn(best, result):
                    best = result
        return best


def _checked_number(exports_to_keep: int | None) -> int | None:
    if exports_to_keep is not None and exports_to_keep <= 0:
        raise ValueError("`exports_to_keep`, if provided, must be a positive number. Got None or not positive.")
    return exports_to_keep


def remove_old_exports(folder: str, keep: int | None) -> None:
    """Removes all but the newest exports: folders whose names are numbers."""
    if keep is None or not os.path.isdir(folder):
        return
    for name in sorted((name for name in os.listdir(folder) if name.isdigit()), key=int)[:-keep]:
        shutil.rmtree(os.path.join(folder, name))
