"""Session bundles of estimators (``Estimator.export``): the format of before SavedModels.

A signature function takes the tensor of serialized examples, the features and the predictions; it returns the signature of the model, and further
signatures by name.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.checkpoint.checkpoint_state import latest_checkpoint
from penstock.contrib import prelude as tf
from penstock.contrib.learn.keys import ModeKeys
from penstock.contrib.learn.tensor_signature import create_example_parser_from_signatures
from penstock.contrib.session_bundle.exporter import Exporter, classification_signature, generic_signature, regression_signature
from penstock.estimator import gc
from penstock.graph.graph import Graph
from penstock.ops.flow.misc import group
from penstock.platform.deprecation import deprecated
from penstock.session.session import Session
from penstock.train.global_step import create_global_step, get_global_step
from penstock.train.lookup import tables_initializer
from penstock.train.saver import Saver
from penstock.variables.initialization import local_variables_initializer

SignatureFn = Callable[[Any, Any, Any], tuple[Any, dict[str, Any]]]


def _of(predictions: Any, key: str) -> Any:
    return predictions[key] if isinstance(predictions, dict) else predictions


def _check_examples(examples: Any) -> None:
    if examples is None:
        raise ValueError("examples cannot be None when using this signature fn.")


def generic_signature_fn(examples: Any, unused_features: Any, predictions: Any) -> tuple[Any, dict[str, Any]]:
    """All predictions by their names, and the examples as "inputs"."""
    _check_examples(examples)
    return generic_signature({"inputs": examples, **(predictions if isinstance(predictions, dict) else {"outputs": predictions})}), {}


def classification_signature_fn(examples: Any, unused_features: Any, predictions: Any) -> tuple[Any, dict[str, Any]]:
    """The classes."""
    _check_examples(examples)
    return classification_signature(examples, classes_tensor=_of(predictions, "classes")), {}


def classification_signature_fn_with_prob(examples: Any, unused_features: Any, predictions: Any) -> tuple[Any, dict[str, Any]]:
    """The probabilities of the classes."""
    _check_examples(examples)
    return classification_signature(examples, scores_tensor=_of(predictions, "probabilities")), {}


def regression_signature_fn(examples: Any, unused_features: Any, predictions: Any) -> tuple[Any, dict[str, Any]]:
    """The numbers."""
    _check_examples(examples)
    return regression_signature(examples, predictions), {}


def logistic_regression_signature_fn(examples: Any, unused_features: Any, predictions: Any) -> tuple[Any, dict[str, Any]]:
    """The probability of the second of two classes."""
    _check_examples(examples)
    probabilities = _of(predictions, "probabilities")
    if probabilities.shape.ndims != 2 or probabilities.shape[1] != 2:
        raise ValueError(f"Expected predictions of shape [batch, 2], but they have shape {probabilities.shape}. Did you mean to use "
                         "regression_signature_fn or classification_signature_fn_with_prob instead?")
    return regression_signature(examples, probabilities[:, 1]), {}


def _default_input_fn(estimator: Any, examples: Any) -> Any:
    """The features that the estimator was trained with, out of serialized examples."""
    if estimator._features_info is None:
        raise ValueError("Features information missing, was fit() ever called?")
    return create_example_parser_from_signatures(estimator._features_info, examples)


def export_bundle(estimator: Any, export_dir: Any, input_fn: Callable[..., Any] | None, input_feature_key: str | None,
                  use_deprecated_input_fn: bool, signature_fn: SignatureFn | None, prediction_key: str | None, default_batch_size: int | None,
                  exports_to_keep: int | None, checkpoint_path: str | None) -> bytes:
    """Exports the model of a checkpoint (the latest one) of an estimator."""
    if input_fn is None and not use_deprecated_input_fn:
        raise ValueError("input_fn must be defined.")
    path = checkpoint_path or latest_checkpoint(estimator.model_dir)
    if path is None:
        raise ValueError(f"Couldn't find trained model at {estimator.model_dir}.")
    with Graph().as_default() as graph:
        create_global_step(graph)
        if use_deprecated_input_fn:
            examples = tf.placeholder(tf.string, [default_batch_size], name="input_example_tensor")
            features = (input_fn or _default_input_fn)(estimator, examples)
        else:
            assert input_fn is not None
            features, _ = input_fn()
            examples = None if input_feature_key is None else features.pop(input_feature_key)
        if examples is None and isinstance(features, dict) and not features:
            raise ValueError("Either features or examples must be defined.")
        predictions = estimator._model_ops(features, None, ModeKeys.INFER).predictions
        if prediction_key is not None:
            predictions = predictions[prediction_key]
        signature, named = (signature_fn or generic_signature_fn)(examples, features, predictions)
        savers = graph.get_collection(tf.GraphKeys.SAVERS)
        saver = savers[0] if savers else Saver()
        with Session() as session:
            saver.restore(session, path)
            exporter = Exporter(saver)
            exporter.init(init_op=group(local_variables_initializer(), tables_initializer()), default_graph_signature=signature,
                          named_graph_signatures=named, assets_collection=graph.get_collection(tf.GraphKeys.ASSET_FILEPATHS))
            return exporter.export(export_dir, get_global_step(), session,
                                   None if exports_to_keep is None else gc.largest_export_versions(exports_to_keep))


@deprecated("2016-09-23", "Please use Estimator.export_savedmodel() instead.")
def export_estimator(estimator: Any, export_dir: Any, signature_fn: SignatureFn | None = None, input_fn: Callable[..., Any] = _default_input_fn,
                     default_batch_size: int = 1, exports_to_keep: int | None = None) -> None:
    """Exports an estimator whose input function parses serialized examples."""
    export_bundle(estimator, export_dir, input_fn, None, True, signature_fn, None, default_batch_size, exports_to_keep, None)
