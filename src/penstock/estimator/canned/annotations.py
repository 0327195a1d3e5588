"""Canned networks whose graphs say which tensors are features: integrated gradients are computed of what stands in the collections of an export."""
from __future__ import annotations

import pickle
from typing import Any

from google.protobuf.any_pb2 import Any as AnyProto

from penstock.estimator.canned.dnn import DNNClassifier, DNNRegressor
from penstock.estimator.columns.building import make_parse_example_spec
from penstock.graph.scopes import add_to_collection
from penstock.saved_model.signatures import build_tensor_info


class LayerAnnotationsCollectionNames:
    """The names of the collections; one of them has TensorFlow's misspelling."""

    UNPROCESSED_FEATURES = "layer_annotations/unprocessed_features"
    PROCESSED_FEATURES = "layer_annotatons/processed_features"
    FEATURE_COLUMNS = "layer_annotations/feature_columns"

    @classmethod
    def keys(cls, collection_name: str) -> str:
        """Where the names of tensors are."""
        return f"{collection_name}/keys"

    @classmethod
    def values(cls, collection_name: str) -> str:
        """Where the tensors are."""
        return f"{collection_name}/values"


def annotate(features: dict[str, Any], outputs: dict[Any, Any]) -> None:
    """Adds the features that columns read, the columns, and what they make of the features to the collections of the graph."""
    names = LayerAnnotationsCollectionNames
    for key in make_parse_example_spec(outputs):
        _add(names.UNPROCESSED_FEATURES, key, features[key])
    for column in outputs:
        add_to_collection(names.FEATURE_COLUMNS, pickle.dumps(column))
    for column, tensor in outputs.items():
        _add(names.PROCESSED_FEATURES, column.name, tensor)


def _add(collection: str, name: str, tensor: Any) -> None:
    info = AnyProto()
    info.Pack(build_tensor_info(tensor))
    add_to_collection(LayerAnnotationsCollectionNames.keys(collection), name)
    add_to_collection(LayerAnnotationsCollectionNames.values(collection), info)


class DNNClassifierWithLayerAnnotations(DNNClassifier):
    """``tf.contrib.estimator.DNNClassifierWithLayerAnnotations``: a DNNClassifier whose exports have these collections."""

    _on_input = staticmethod(annotate)


class DNNRegressorWithLayerAnnotations(DNNRegressor):
    """``tf.contrib.estimator.DNNRegressorWithLayerAnnotations``: the same for a DNNRegressor."""

    _on_input = staticmethod(annotate)
