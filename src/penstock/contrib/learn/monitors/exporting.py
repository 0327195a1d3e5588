"""``ExportMonitor``: exports a model while it is trained."""
from __future__ import annotations

from typing import Any

from penstock.checkpoint.checkpoint_state import latest_checkpoint
from penstock.contrib.learn.monitors.base import EveryN
from penstock.estimator.estimator import Estimator as CoreEstimator
from penstock.platform import logging
from penstock.platform.deprecation import deprecated


class ExportMonitor(EveryN):
    """``tf.contrib.learn.monitors.ExportMonitor``: writes a session bundle of the latest checkpoint every so many steps, and at the end."""

    @deprecated("2017-03-25", "ExportMonitor is deprecated. Please pass an ExportStrategy to Experiment instead.")
    def __init__(self, every_n_steps: int, export_dir: Any, input_fn: Any = None, input_feature_key: str | None = None,
                 exports_to_keep: int | None = 5, signature_fn: Any = None, default_batch_size: int | None = 1) -> None:
        super().__init__(every_n_steps=every_n_steps)
        self.export_dir, self.exports_to_keep, self.signature_fn = export_dir, exports_to_keep, signature_fn
        self.last_export_dir: Any = None
        self._options = {"input_fn": input_fn, "input_feature_key": input_feature_key, "default_batch_size": default_batch_size,
                         "use_deprecated_input_fn": input_fn is None}

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool | None:
        """Exports."""
        super().every_n_step_end(step, outputs)
        self._export()
        return None

    def end(self, session: Any = None) -> None:
        """Exports, if there is something to export."""
        super().end(session=session)
        if latest_checkpoint(self._estimator.model_dir) is None:
            logging.info("Skipping export at the end since model has not been saved yet.")
        else:
            self._export()

    def _export(self) -> None:
        if isinstance(self._estimator, CoreEstimator):
            raise ValueError("ExportMonitor does not support `tf.estimator.Estimator`. Please pass an ExportStrategy to Experiment instead.")
        try:
            self.last_export_dir = self._estimator.export(self.export_dir, exports_to_keep=self.exports_to_keep, signature_fn=self.signature_fn,
                                                          **self._options)
        except RuntimeError:  # the folder is there: an export is that of a checkpoint, which may be older than the step
            logging.info("Skipping exporting because the existing checkpoint has already been exported. Consider exporting less frequently.")
