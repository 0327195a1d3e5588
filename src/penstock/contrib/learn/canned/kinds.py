"""What all classifiers, and all regressors, have in common: how they are asked for predictions."""
from __future__ import annotations

from typing import Any

from penstock.contrib.learn.bundle_export import classification_signature_fn_with_prob, regression_signature_fn
from penstock.contrib.learn.estimator import Estimator
from penstock.contrib.learn.keys import PredictionKey
from penstock.contrib.learn.metric_spec import MetricSpec


class CannedEstimator(Estimator):
    """An estimator whose predictions have a default."""

    def _output(self, key: str, x: Any, input_fn: Any, batch_size: int | None, as_iterable: bool) -> Any:
        """One of the outputs of the model, for all examples."""
        predictions = Estimator.predict(self, x=x, input_fn=input_fn, batch_size=batch_size, outputs=[key], as_iterable=as_iterable)
        return (each[key] for each in predictions) if as_iterable else predictions[key]


class Classifier(CannedEstimator):
    """Predicts classes."""

    _bundle_signature = (classification_signature_fn_with_prob, PredictionKey.PROBABILITIES)

    def predict(self, x: Any = None, input_fn: Any = None, batch_size: int | None = None, outputs: Any = None,  # type: ignore[override]
                as_iterable: bool = True) -> Any:
        """The classes, or ``outputs``."""
        if not outputs:
            return self.predict_classes(x=x, input_fn=input_fn, batch_size=batch_size, as_iterable=as_iterable)
        return super().predict(x=x, input_fn=input_fn, batch_size=batch_size, outputs=outputs, as_iterable=as_iterable)

    def predict_classes(self, x: Any = None, input_fn: Any = None, batch_size: int | None = None, as_iterable: bool = True) -> Any:
        """The most probable class of each example."""
        return self._output(PredictionKey.CLASSES, x, input_fn, batch_size, as_iterable)

    def predict_proba(self, x: Any = None, input_fn: Any = None, batch_size: int | None = None, as_iterable: bool = True) -> Any:
        """The probabilities of all classes, for each example."""
        return self._output(PredictionKey.PROBABILITIES, x, input_fn, batch_size, as_iterable)


class Regressor(CannedEstimator):
    """Predicts numbers."""

    _bundle_signature = (regression_signature_fn, PredictionKey.SCORES)

    def predict(self, x: Any = None, input_fn: Any = None, batch_size: int | None = None, outputs: Any = None,  # type: ignore[override]
                as_iterable: bool = True) -> Any:
        """The scores, or ``outputs``."""
        if not outputs:
            return self.predict_scores(x=x, input_fn=input_fn, batch_size=batch_size, as_iterable=as_iterable)
        return super().predict(x=x, input_fn=input_fn, batch_size=batch_size, outputs=outputs, as_iterable=as_iterable)

    def predict_scores(self, x: Any = None, input_fn: Any = None, batch_size: int | None = None, as_iterable: bool = True) -> Any:
        """The number, or numbers, of each example."""
        return self._output(PredictionKey.SCORES, x, input_fn, batch_size, as_iterable)

    def evaluate(self, x: Any = None, y: Any = None, input_fn: Any = None, feed_fn: Any = None, batch_size: int | None = None,
                 steps: int | None = None, metrics: Any = None, name: str | None = None, checkpoint_path: str | None = None, hooks: Any = None,
                 log_progress: bool = True) -> dict[str, Any]:
        """The metrics; those that are functions get the scores."""
        if isinstance(metrics, dict):
            metrics = {key if isinstance(metric, MetricSpec) or isinstance(key, tuple) else (key, PredictionKey.SCORES): metric
                       for key, metric in metrics.items()}
        return super().evaluate(x=x, y=y, input_fn=input_fn, feed_fn=feed_fn, batch_size=batch_size, steps=steps, metrics=metrics, name=name,
                                checkpoint_path=checkpoint_path, hooks=hooks, log_progress=log_progress)
