"""What an exported model gives: outputs of a model function, each of which becomes a signature of a SavedModel."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.graph.node import Operation, Tensor
from penstock.ops.constant import constant
from penstock.platform import logging
from penstock.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from penstock.saved_model.signatures import classification_signature_def, predict_signature_def, regression_signature_def
from penstock.variables.variable import Variable


class ExportOutput:
    """``tf.estimator.export.ExportOutput``: one way to use an exported model."""

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        """The signature of this output, for a model that is given ``receiver_tensors``."""
        raise NotImplementedError(f"{type(self).__name__}.as_signature_def")


class ClassificationOutput(ExportOutput):
    """``tf.estimator.export.ClassificationOutput``: scores and classes of examples."""

    def __init__(self, scores: Any = None, classes: Any = None) -> None:
        if scores is not None and not (isinstance(scores, Tensor) and scores.dtype.is_floating):
            raise ValueError(f"Classification scores must be a float32 Tensor; got {scores}")
        if classes is not None and not (isinstance(classes, Tensor) and classes.dtype == dtypes.string):
            raise ValueError(f"Classification classes must be a string Tensor; got {classes}")
        if scores is None and classes is None:
            raise ValueError("At least one of scores and classes must be set.")
        self._scores, self._classes = scores, classes

    @property
    def scores(self) -> Any:
        """A number per class, or per example."""
        return self._scores

    @property
    def classes(self) -> Any:
        """The classes, as text."""
        return self._classes

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        """A signature that takes serialized examples."""
        return classification_signature_def(_examples(receiver_tensors, "Classification"), self.classes, self.scores)


class RegressionOutput(ExportOutput):
    """``tf.estimator.export.RegressionOutput``: a number per example."""

    def __init__(self, value: Any) -> None:
        if not (isinstance(value, Tensor) and value.dtype.is_floating):
            raise ValueError(f"Regression output value must be a float32 Tensor; got {value}")
        self._value = value

    @property
    def value(self) -> Any:
        """The numbers."""
        return self._value

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        """A signature that takes serialized examples."""
        return regression_signature_def(_examples(receiver_tensors, "Regression"), self.value)


class PredictOutput(ExportOutput):
    """``tf.estimator.export.PredictOutput``: any tensors by name."""

    def __init__(self, outputs: Any) -> None:
        outputs = outputs if isinstance(outputs, dict) else {"output": outputs}
        for key, value in outputs.items():
            if not isinstance(key, str):
                raise ValueError(f"Prediction output key must be a string; got {key}.")
            if not isinstance(value, (Tensor, Variable)):
                raise ValueError(f"Prediction output value must be a Tensor; got {value}.")
        self._outputs = outputs

    @property
    def outputs(self) -> dict[str, Any]:
        """The tensors by name."""
        return self._outputs

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        """A signature that takes tensors by name."""
        return predict_signature_def(receiver_tensors, self.outputs)


class SupervisedOutput(ExportOutput):
    """What a model gives that is exported to be trained or evaluated: loss, predictions, and the values and updates of metrics."""

    def __init__(self, mode: str, loss: Any, predictions: Any, metrics: dict[str, Any]) -> None:
        self._mode = mode
        self.outputs: dict[str, Any] = {"loss": loss}
        named = predictions if isinstance(predictions, dict) else {"output": predictions}
        self.outputs.update({f"predictions/{key}": value for key, value in named.items()})
        for key, (value, update) in metrics.items():
            self.outputs[f"metrics/{key}/value"] = value
            # A signature names tensors. What is an operation alone stands behind an empty constant that depends on it.
            self.outputs[f"metrics/{key}/update_op"] = _as_tensor(update)

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        """A signature that takes features and labels by name."""
        signature = predict_signature_def(receiver_tensors, self.outputs)
        signature.method_name = f"tensorflow/supervised/{'training' if self._mode == 'train' else 'eval'}"
        return signature


def _as_tensor(update: Any) -> Any:
    if not isinstance(update, Operation):
        return update
    with update.graph.control_dependencies([update]):
        return constant([], name="metric_op_wrapper")


def _examples(receiver_tensors: dict[str, Any], what: str) -> Any:
    if len(receiver_tensors) != 1:
        raise ValueError(f"{what} input must be a single string Tensor; got {receiver_tensors}")
    (examples,) = receiver_tensors.values()
    if not isinstance(examples, Tensor) or examples.dtype != dtypes.string:
        raise ValueError(f"{what} input must be a single string Tensor; got {receiver_tensors}")
    return examples


def checked_export_outputs(export_outputs: Any, predictions: Any) -> dict[str, ExportOutput]:
    """The outputs of a model that predicts; one of them is the default."""
    if export_outputs is None:
        return {DEFAULT_SERVING_SIGNATURE_DEF_KEY: PredictOutput(predictions)}
    if not isinstance(export_outputs, dict):
        raise TypeError(f"export_outputs must be dict, given: {export_outputs}")
    for value in export_outputs.values():
        if not isinstance(value, ExportOutput):
            raise TypeError(f"Values in export_outputs must be ExportOutput objects. Given: {export_outputs}")
    if len(export_outputs) == 1:
        (key, value), = export_outputs.items()
        return export_outputs if key == DEFAULT_SERVING_SIGNATURE_DEF_KEY else {**export_outputs, DEFAULT_SERVING_SIGNATURE_DEF_KEY: value}
    if DEFAULT_SERVING_SIGNATURE_DEF_KEY not in export_outputs:
        raise ValueError("Multiple export_outputs were provided, but none of them is specified as the default.  Do this by naming one of them with "
                         "signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY.")
    return export_outputs


_METHODS = {"tensorflow/serving/classify": "Classify", "tensorflow/serving/regress": "Regress", "tensorflow/serving/predict": "Predict",
            "tensorflow/supervised/training": "Train", "tensorflow/supervised/eval": "Eval"}


def build_all_signature_defs(receiver_tensors: Any, export_outputs: dict[str, ExportOutput], alternatives: Any = None,
                             serving_only: bool = True) -> dict[str, Any]:
    """{name: SignatureDef} of all outputs. Those that do not fit the inputs are left out, and logged with the reason: a server could not use them."""
    signatures, excluded = {}, {}
    for prefix, tensors in {"": receiver_tensors, **(alternatives or {})}.items():
        receivers = tensors if isinstance(tensors, dict) else {"input": tensors}
        for key, output in export_outputs.items():
            name = f"{prefix}:{key or 'None'}" if prefix else key or DEFAULT_SERVING_SIGNATURE_DEF_KEY
            try:
                signatures[name] = output.as_signature_def(receivers)
            except ValueError as error:  # a classification of something else than serialized examples
                excluded[name] = str(error)
    _log_report(signatures, excluded)
    return {name: each for name, each in signatures.items() if not serving_only or "supervised" not in each.method_name}


def _log_report(signatures: dict[str, Any], excluded: dict[str, str]) -> None:
    for method, label in _METHODS.items():
        names = [name for name, each in signatures.items() if each.method_name == method]
        logging.info("Signatures INCLUDED in export for %s: %s", label, names or None)
    if excluded:
        logging.info("Signatures EXCLUDED from export because they cannot be be served via TensorFlow Serving APIs:")
    for name, reason in excluded.items():
        logging.info("'%s' : %s", name, reason)
    if not signatures:
        logging.warning("Export includes no signatures!")
    elif DEFAULT_SERVING_SIGNATURE_DEF_KEY not in signatures and not any("supervised" in each.method_name for each in signatures.values()):
        logging.warning("Export includes no default signature!")
