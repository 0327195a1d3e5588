"""``ExportStrategy``: when and what an Experiment exports; the folders of exports."""
from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.checkpoint.checkpoint_state import latest_checkpoint
from penstock.contrib.layers.columns.building import create_feature_spec_for_parsing
from penstock.contrib.learn.exports import build_parsing_serving_input_fn
from penstock.estimator.estimator import Estimator as CoreEstimator
from penstock.estimator.exporters import loss_smaller, remove_old_exports
from penstock.estimator.exporting import timestamped_folder
from penstock.estimator.serving import build_parsing_serving_input_receiver_fn
from penstock.platform import gfile
from penstock.platform.inspection import fn_args, takes_positions
from penstock.summary.reading import summary_iterator


class _Strategy(NamedTuple):
    name: str
    export_fn: Callable[..., Any]
    strip_default_attrs: bool | None = None


class ExportStrategy(_Strategy):
    """``tf.contrib.learn.ExportStrategy``: what an Experiment exports, and how; ``export_fn(estimator, folder, ...)`` does it."""

    def export(self, estimator: Any, export_path: Any, checkpoint_path: str | None = None, eval_result: dict[str, Any] | None = None) -> Any:
        """Exports; the function gets those of the arguments that it has names for."""
        names = fn_args(self.export_fn)
        if "eval_result" in names and "checkpoint_path" not in names:
            raise ValueError("An export_fn accepting eval_result must also accept checkpoint_path.")
        available = {"checkpoint_path": checkpoint_path, "eval_result": eval_result, "strip_default_attrs": self.strip_default_attrs}
        return self.export_fn(estimator, export_path, **{name: value for name, value in available.items() if name in names})


def make_export_strategy(serving_input_fn: Callable[[], Any], default_output_alternative_key: str | None = None, assets_extra: Any = None,
                         as_text: bool = False, exports_to_keep: int | None = 5, strip_default_attrs: bool | None = None) -> ExportStrategy:
    """``tf.contrib.learn.make_export_strategy``: SavedModels, of which the newest are kept. Its name is "Servo"."""
    def export_fn(estimator: Any, export_dir_base: Any, checkpoint_path: str | None = None, strip_default_attrs: bool | None = False) -> Any:
        base = os.fsdecode(export_dir_base)
        options = {"assets_extra": assets_extra, "as_text": as_text, "checkpoint_path": checkpoint_path,
                   **({"strip_default_attrs": True} if strip_default_attrs else {})}  # estimators of before TensorFlow 1.6 do not know it
        if not isinstance(estimator, CoreEstimator):
            options["default_output_alternative_key"] = default_output_alternative_key
        elif default_output_alternative_key is not None:
            raise ValueError("default_output_alternative_key is not supported in core Estimator. Given: "
                             f"{default_output_alternative_key}")
        folder = estimator.export_savedmodel(base, serving_input_fn, **options)
        garbage_collect_exports(base, exports_to_keep)
        return folder
    return ExportStrategy("Servo", export_fn, strip_default_attrs)


def make_parsing_export_strategy(feature_columns: Any, default_output_alternative_key: str | None = None, assets_extra: Any = None,
                                 as_text: bool = False, exports_to_keep: int | None = 5, target_core: bool = False,
                                 strip_default_attrs: bool | None = None) -> ExportStrategy:
    """The same, for models that are fed serialized examples with the features of the columns."""
    build = build_parsing_serving_input_receiver_fn if target_core else build_parsing_serving_input_fn
    return make_export_strategy(build(create_feature_spec_for_parsing(feature_columns)), default_output_alternative_key, assets_extra, as_text,
                                exports_to_keep, strip_default_attrs)


class BestModelSelector:
    """Remembers the best evaluation so far: by ``compare_fn(best, candidate)``, which says whether the candidate is better."""

    def __init__(self, event_file_pattern: str | None = None, compare_fn: Callable[[Any, Any], bool] | None = None) -> None:
        self._compare_fn = compare_fn or loss_smaller
        self._best: dict[str, Any] | None = None
        for file in gfile.Glob(event_file_pattern) if event_file_pattern else ():
            for event in summary_iterator(file):
                if event.HasField("summary"):
                    self._is_better({value.tag: value.simple_value for value in event.summary.value if value.HasField("simple_value")})

    def update(self, checkpoint_path: str, eval_result: dict[str, Any] | None) -> tuple[str, dict[str, Any] | None]:
        """(checkpoint, evaluation) if it is the best so far, else ("", None)."""
        if not checkpoint_path:
            raise ValueError("Checkpoint path is empty.")
        if eval_result is None:
            raise ValueError(f"{checkpoint_path} has empty evaluation results.")
        return (checkpoint_path, eval_result) if self._is_better(eval_result) else ("", None)

    def _is_better(self, candidate: dict[str, Any]) -> bool:
        better = self._best is None or self._compare_fn(self._best, candidate)
        self._best = candidate if better else self._best
        return better


def make_best_model_export_strategy(serving_input_fn: Callable[[], Any], exports_to_keep: int | None = 1, model_dir: str | None = None,
                                    event_file_pattern: str | None = None, compare_fn: Callable[[Any, Any], bool] | None = None,
                                    default_output_alternative_key: str | None = None, strip_default_attrs: bool | None = None) -> ExportStrategy:
    """A strategy that exports a checkpoint if its evaluation is the best so far."""
    strategy = make_export_strategy(serving_input_fn, default_output_alternative_key, exports_to_keep=exports_to_keep,
                                    strip_default_attrs=strip_default_attrs)
    selector = BestModelSelector(os.path.join(model_dir, event_file_pattern) if model_dir and event_file_pattern else None, compare_fn)

    def export_fn(estimator: Any, export_dir_base: Any, checkpoint_path: str | None, eval_result: dict[str, Any] | None = None) -> Any:
        best, result = selector.update(checkpoint_path or latest_checkpoint(estimator.model_dir) or "", eval_result)
        return strategy.export(estimator, os.path.join(os.fsdecode(export_dir_base), os.path.basename(best)), best, result) if best else ""
    return ExportStrategy("best_model", export_fn)


def extend_export_strategy(base_export_strategy: ExportStrategy, post_export_fn: Callable[..., str],
                           post_export_name: str | None = None) -> ExportStrategy:
    """A strategy that hands its export to ``post_export_fn(export, folder)``, and keeps what that makes below ``folder``.

    A function of one argument is called as up to TensorFlow 1.4: it changes the export where that is, and says where the result is.
    """
    takes_folder = takes_positions(post_export_fn, 2)

    def export_fn(estimator: Any, export_dir_base: Any, checkpoint_path: str | None = None) -> str:
        base = os.fsdecode(export_dir_base)
        if not takes_folder:
            return os.fsdecode(post_export_fn(base_export_strategy.export(estimator, base, checkpoint_path)))
        before, after = (os.path.join(base, f"temp-{kind}-export-{int(time.time())}") for kind in ("base", "post"))
        for folder in (before, after):
            os.makedirs(folder)
        made = os.fsdecode(post_export_fn(base_export_strategy.export(estimator, before, checkpoint_path), after))
        if not made.startswith(after):
            raise ValueError(f"post_export_fn must return a sub-directory of {after}")
        final = os.path.join(base, os.path.relpath(made, after))
        if os.path.exists(final):
            raise RuntimeError("Failed to obtain final export directory")
        os.rename(made, final)
        shutil.rmtree(before)
        shutil.rmtree(after, ignore_errors=True)
        return final
    return ExportStrategy(post_export_name or base_export_strategy.name, export_fn)


# --- folders ---------------------------------------------------------------------------------------------------------

def get_timestamped_export_dir(export_dir_base: Any) -> bytes:
    """The path of a new folder below ``export_dir_base``, named by the time."""
    return timestamped_folder(os.fsdecode(export_dir_base)).encode()


def get_temp_export_dir(timestamped_export_dir: Any) -> bytes:
    """Where an export stands until it is complete."""
    folder, name = os.path.split(os.fsdecode(timestamped_export_dir))
    return os.path.join(folder, f"temp-{name}").encode()


class ExportPath(NamedTuple):
    """The folder of an export, and the time in its name."""

    path: str
    export_version: int


def get_most_recent_export(export_dir_base: Any) -> ExportPath | None:
    """The newest export in a folder."""
    base = os.fsdecode(export_dir_base)
    versions = [int(name) for name in os.listdir(base) if name.isdigit()]
    return ExportPath(os.path.join(base, str(max(versions))), max(versions)) if versions else None


def garbage_collect_exports(export_dir_base: Any, exports_to_keep: int | None) -> None:
    """Removes all but the newest exports of a folder."""
    remove_old_exports(os.fsdecode(export_dir_base), exports_to_keep)
