"""Signatures of inputs: type and shape of tensors, to see whether other inputs fit a model, or to make placeholders and parsers for them.

The first axis is the batch: its extent does not count.
"""
from __future__ import annotations

from typing import Any, NamedTuple

from penstock.contrib import prelude as tf
from penstock.graph.shape import as_shape
from penstock.ops.sparse.sparse_functions import sparse_placeholder
from penstock.ops.text.parsing import FixedLenFeature, VarLenFeature, parse_example


class _Signature(NamedTuple):
    dtype: Any
    shape: Any
    is_sparse: bool


class TensorSignature(_Signature):
    """What is asked of a tensor: type and shape; of a sparse one, its type."""

    def __new__(cls, tensor: Any) -> TensorSignature:
        if isinstance(tensor, tf.SparseTensor):
            return super().__new__(cls, tensor.values.dtype, None, True)
        return super().__new__(cls, tensor.dtype, tensor.get_shape(), False)

    def is_compatible_with(self, other: _Signature) -> bool:
        """Whether both can describe one tensor, in batches of any size."""
        if self.is_sparse or other.is_sparse:
            return self.is_sparse and other.is_sparse and self.dtype.is_compatible_with(other.dtype)
        mine, its = as_shape(self.shape), as_shape(other.shape)
        fits = mine.ndims is None or its.ndims is None or (mine.ndims == its.ndims and mine[1:].is_compatible_with(its[1:]))
        return bool(fits and self.dtype.is_compatible_with(other.dtype))

    def get_placeholder(self) -> Any:
        """A placeholder for such a tensor."""
        if self.is_sparse:
            return sparse_placeholder(self.dtype)
        return tf.placeholder(self.dtype, self.shape if self.shape.ndims is None else [None, *self.shape[1:]])

    def get_feature_spec(self) -> Any:
        """The feature of a tf.Example that becomes such a tensor, or one of the next larger type that Examples have."""
        dtype = {tf.int32: tf.int64, tf.float64: tf.float32}.get(self.dtype, self.dtype)
        return VarLenFeature(dtype) if self.is_sparse else FixedLenFeature(self.shape[1:], dtype)


def create_signatures(tensors: Any) -> Any:
    """The signature of a tensor, or of each in a dict; None for None."""
    if tensors is None:
        return None
    return {key: TensorSignature(tensor) for key, tensor in tensors.items()} if isinstance(tensors, dict) else TensorSignature(tensors)


def tensors_compatible(tensors: Any, signatures: Any) -> bool:
    """Whether tensors fit signatures: of a dict, those that the signatures name."""
    if tensors is None or signatures is None:
        return tensors is signatures
    if isinstance(tensors, dict) and isinstance(signatures, dict):
        return all(key in tensors and TensorSignature(tensors[key]).is_compatible_with(signature) for key, signature in signatures.items())
    if isinstance(tensors, dict) or isinstance(signatures, dict):
        return False
    return TensorSignature(tensors).is_compatible_with(signatures)


def create_placeholders_from_signatures(signatures: Any) -> Any:
    """A placeholder for each signature."""
    if isinstance(signatures, dict):
        return {key: signature.get_placeholder() for key, signature in signatures.items()}
    return None if signatures is None else signatures.get_placeholder()


def create_example_parser_from_signatures(signatures: Any, examples_batch: Any, single_feature_name: str = "feature") -> Any:
    """The tensors that serialized Examples hold, as the signatures describe them."""
    named = signatures if isinstance(signatures, dict) else {single_feature_name: signatures}
    parsed = parse_example(examples_batch, {key: signature.get_feature_spec() for key, signature in named.items()})
    features = {key: value if value.dtype == named[key].dtype else tf.cast(value, named[key].dtype) for key, value in parsed.items()}
    return features if isinstance(signatures, dict) else features[single_feature_name]
