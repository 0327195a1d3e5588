"""What an exported model is fed and what it gives: inputs, and signatures for all pairs of inputs and outputs."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.contrib.learn.keys import PredictionKey, ProblemType
from penstock.contrib.learn.model_fn import ModelFnOps, classes_of, scores_of
from penstock.estimator.serving import build_parsing_serving_input_receiver_fn, build_raw_serving_input_receiver_fn
from penstock.graph import dtypes
from penstock.graph.scopes import add_to_collection
from penstock.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from penstock.saved_model.signatures import classification_signature_def, predict_signature_def, regression_signature_def

DEFAULT_INPUT_ALTERNATIVE_KEY = "default_input_alternative"
FEATURES_INPUT_ALTERNATIVE_KEY = "features_input_alternative"
_DEFAULT_OUTPUT = "default_output_alternative"
_FEATURE_KEYS = "input_feature_keys"  # a collection of exported graphs


# --- inputs ----------------------------------------------------------------------------------------------------------

class InputFnOps(NamedTuple):
    """``tf.contrib.learn.utils.InputFnOps``: features and labels, and the tensors that a server feeds for them."""

    features: Any
    labels: Any
    default_inputs: dict[str, Any]


def build_parsing_serving_input_fn(feature_spec: dict[str, Any], default_batch_size: int | None = None) -> Callable[[], InputFnOps]:
    """``tf.contrib.learn.build_parsing_serving_input_fn``: the model is fed serialized ``tf.train.Example`` records."""
    return _as_input_fn(build_parsing_serving_input_receiver_fn(feature_spec, default_batch_size))


def build_default_serving_input_fn(features: dict[str, Any], default_batch_size: int | None = None) -> Callable[[], InputFnOps]:
    """``tf.contrib.learn.utils.build_default_serving_input_fn``: the model is fed its features, tensors like those of ``features``."""
    return _as_input_fn(build_raw_serving_input_receiver_fn(features, default_batch_size))


def _as_input_fn(receiver_fn: Callable[[], Any]) -> Callable[[], InputFnOps]:
    def input_fn() -> InputFnOps:
        receiver = receiver_fn()
        return InputFnOps(receiver.features, None, receiver.receiver_tensors)
    return input_fn


def get_input_alternatives(input_ops: Any) -> tuple[dict[str, Any], Any]:
    """({name: inputs}, features) of what an input function of an export returned."""
    features = input_ops[0]
    if not features:
        raise ValueError("Features must be defined.")
    return {DEFAULT_INPUT_ALTERNATIVE_KEY: input_ops.default_inputs} if isinstance(input_ops, InputFnOps) else {}, features


# --- signatures ------------------------------------------------------------------------------------------------------

def build_standardized_signature_def(input_tensors: dict[str, Any], output_tensors: dict[str, Any], problem_type: int) -> Any:
    """The signature that fits a problem. Several inputs, or outputs that are not those of the problem, make a prediction of it."""
    if not input_tensors:
        raise ValueError("input_tensors must be provided.")
    if not output_tensors:
        raise ValueError("output_tensors must be provided.")
    if len(input_tensors) == 1:
        (examples,) = input_tensors.values()
        if problem_type == ProblemType.LINEAR_REGRESSION and len(output_tensors) == 1:
            return regression_signature_def(examples, next(iter(output_tensors.values())))
        if problem_type in (ProblemType.CLASSIFICATION, ProblemType.LOGISTIC_REGRESSION):
            classes, scores = classes_of(output_tensors), scores_of(output_tensors)
            if classes is None and scores is None and len(output_tensors) == 1:
                (output,) = output_tensors.values()
                classes, scores = (output, None) if output.dtype == dtypes.string else (None, output)
            if classes is not None or scores is not None:
                return classification_signature_def(examples, classes, scores)
    return predict_signature_def(input_tensors, output_tensors)


def get_output_alternatives(model_fn_ops: ModelFnOps, default_output_alternative_key: str | None = None) -> tuple[dict[Any, Any], Any]:
    """({name: (problem, outputs)}, the name of the default) of a model."""
    alternatives = model_fn_ops.output_alternatives
    if not alternatives and not default_output_alternative_key:
        predictions = model_fn_ops.predictions
        named = predictions if isinstance(predictions, dict) else {PredictionKey.GENERIC: predictions}
        return {_DEFAULT_OUTPUT: (ProblemType.UNSPECIFIED, named)}, _DEFAULT_OUTPUT
    available = sorted(map(str, alternatives or ()))
    if default_output_alternative_key:
        if default_output_alternative_key not in (alternatives or ()):
            raise ValueError(f"Requested default_output_alternative: {default_output_alternative_key}, but available output_alternatives are: "
                             f"{available}")
        return alternatives, default_output_alternative_key
    if len(alternatives) > 1:
        raise ValueError(f"Please specify a default_output_alternative.  Available output_alternatives are: {available}")
    return alternatives, next(iter(alternatives))


def build_all_signature_defs(input_alternatives: dict[str, Any], output_alternatives: dict[Any, Any],
                             actual_default_output_alternative_key: Any) -> dict[str, Any]:
    """{name: SignatureDef} of all pairs of inputs and outputs, and of the default."""
    default_inputs = input_alternatives.get(DEFAULT_INPUT_ALTERNATIVE_KEY)
    if not default_inputs:
        raise ValueError("A default input_alternative must be provided.")
    signatures = {f"{input_key}:{output_key or 'None'}": build_standardized_signature_def(inputs, outputs, problem)
                  for input_key, inputs in input_alternatives.items() for output_key, (problem, outputs) in output_alternatives.items()}
    problem, outputs = output_alternatives[actual_default_output_alternative_key]
    signatures[DEFAULT_SERVING_SIGNATURE_DEF_KEY] = build_standardized_signature_def(default_inputs, outputs, problem)
    return signatures


def signatures_of_alternatives(default_output: str | None) -> Callable[..., dict[str, Any]]:
    """A function of (inputs, model, mode) that names the signatures of an export."""
    def signatures(input_ops: Any, model_fn_ops: ModelFnOps, mode: str) -> dict[str, Any]:
        inputs, features = get_input_alternatives(input_ops)
        for key in features:
            add_to_collection(_FEATURE_KEYS, key)
        return build_all_signature_defs(inputs, *get_output_alternatives(model_fn_ops, default_output))
    return signatures
