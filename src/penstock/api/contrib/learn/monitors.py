"""``tf.contrib.learn.monitors``: what looks at training, from before hooks."""
from __future__ import annotations

from penstock.api._table import publish

HERE = "penstock.contrib.learn.monitors"
TABLE: dict[str, str] = {
    f"{HERE}.base": "BaseMonitor EveryN",
    f"{HERE}.exporting": "ExportMonitor",
    f"{HERE}.hooks": "RunHookAdapterForMonitors replace_monitors_with_hooks",
    f"{HERE}.saving": "CheckpointSaver SummarySaver get_default_monitors",
    f"{HERE}.validation": "ValidationMonitor",
    f"{HERE}.watching": "CaptureVariable GraphDump LoggingTrainable NanLoss PrintTensor StepCounter StopAtStep",
    "penstock.train.basic_hooks": "NanLossDuringTrainingError",
    "penstock.train.session_run_hook": "SessionRunHook",
}
publish(__name__, TABLE)
