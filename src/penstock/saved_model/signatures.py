"""Signatures: which tensors go into a graph and which come out, under names for people and servers."""
from __future__ import annotations

from typing import Any

from tensorboard.compat.proto.meta_graph_pb2 import SignatureDef, TensorInfo

from penstock.graph import dtypes
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.graph import Graph, default_graph
from penstock.graph.shape import TensorShape
from penstock.saved_model import signature_constants as names
from penstock.variables.naming import prepend_name_scope


def build_tensor_info(tensor: Any) -> TensorInfo:
    """``tf.saved_model.utils.build_tensor_info``: name, type and shape of a tensor or SparseTensor."""
    info = TensorInfo(dtype=dtypes.as_dtype(tensor.dtype).base_dtype.as_datatype_enum, tensor_shape=tensor.get_shape().as_proto())
    if isinstance(tensor, SparseTensor):
        info.coo_sparse.values_tensor_name = tensor.values.name
        info.coo_sparse.indices_tensor_name = tensor.indices.name
        info.coo_sparse.dense_shape_tensor_name = tensor.dense_shape.name
    else:
        info.name = tensor.name
    return info


def get_tensor_from_tensor_info(tensor_info: TensorInfo, graph: Graph | None = None, import_scope: str | None = None) -> Any:
    """``tf.saved_model.utils.get_tensor_from_tensor_info``: the tensor that a TensorInfo describes."""
    graph = graph or default_graph()

    def find(name: str) -> Any:
        return graph.get_tensor_by_name(prepend_name_scope(name, import_scope))

    encoding = tensor_info.WhichOneof("encoding")
    if encoding == "name":
        return find(tensor_info.name)
    if encoding == "coo_sparse":
        sparse = tensor_info.coo_sparse
        return SparseTensor(find(sparse.indices_tensor_name), find(sparse.values_tensor_name), find(sparse.dense_shape_tensor_name))
    raise ValueError(f"Invalid TensorInfo.encoding: {encoding}")


def build_signature_def(inputs: dict[str, TensorInfo] | None = None, outputs: dict[str, TensorInfo] | None = None,
                        method_name: str | None = None) -> SignatureDef:
    """``tf.saved_model.signature_def_utils.build_signature_def``: a signature from TensorInfos."""
    signature = SignatureDef()
    for field, given in ((signature.inputs, inputs), (signature.outputs, outputs)):
        for name, info in (given or {}).items():
            field[name].CopyFrom(info)
    if method_name is not None:
        signature.method_name = method_name
    return signature


def _infos(tensors: dict[str, Any]) -> dict[str, TensorInfo]:
    return {name: build_tensor_info(tensor if isinstance(tensor, SparseTensor) else to_tensor(tensor)) for name, tensor in tensors.items()}


def predict_signature_def(inputs: dict[str, Any], outputs: dict[str, Any]) -> SignatureDef:
    """``tf.saved_model.signature_def_utils.predict_signature_def``: any inputs, any outputs."""
    if not inputs:
        raise ValueError("Prediction inputs cannot be None or empty.")
    if not outputs:
        raise ValueError("Prediction outputs cannot be None or empty.")
    return build_signature_def(_infos(inputs), _infos(outputs), names.PREDICT_METHOD_NAME)


def regression_signature_def(examples: Any, predictions: Any) -> SignatureDef:
    """``tf.saved_model.signature_def_utils.regression_signature_def``: serialized Examples in, numbers out."""
    if examples is None:
        raise ValueError("Regression examples cannot be None.")
    if predictions is None:
        raise ValueError("Regression predictions cannot be None.")
    outputs = {names.REGRESS_OUTPUTS: _output("Regression output", predictions, dtypes.float32)}
    return build_signature_def(_examples_info("Regression", examples), outputs, names.REGRESS_METHOD_NAME)


def classification_signature_def(examples: Any, classes: Any, scores: Any) -> SignatureDef:
    """``tf.saved_model.signature_def_utils.classification_signature_def``: serialized Examples in, classes and scores out."""
    if examples is None:
        raise ValueError("Classification examples cannot be None.")
    if classes is None and scores is None:
        raise ValueError("Classification classes and scores cannot both be None.")
    outputs = {}
    if classes is not None:
        outputs[names.CLASSIFY_OUTPUT_CLASSES] = _output("Classification classes", classes, dtypes.string)
    if scores is not None:
        outputs[names.CLASSIFY_OUTPUT_SCORES] = _output("Classification scores", scores, dtypes.float32)
    return build_signature_def(_examples_info("Classification", examples), outputs, names.CLASSIFY_METHOD_NAME)


def _examples_info(what: str, examples: Any) -> dict[str, TensorInfo]:
    tensor = to_tensor(examples)
    if tensor.dtype.base_dtype is not dtypes.string:
        raise ValueError(f"{what} examples must be a string tensor.")
    return {names.REGRESS_INPUTS: build_tensor_info(tensor)}


def _output(what: str, value: Any, dtype: dtypes.DType) -> TensorInfo:
    tensor = to_tensor(value)
    if tensor.dtype.base_dtype is not dtype:
        raise ValueError(f"{what} must be a {'float' if dtype is dtypes.float32 else dtype.name} tensor.")
    return build_tensor_info(tensor)


def is_valid_signature(signature_def: SignatureDef | None) -> bool:
    """``tf.saved_model.signature_def_utils.is_valid_signature``: can a server of models use it?"""
    if signature_def is None or not signature_def.inputs or not signature_def.outputs:
        return False
    outputs = signature_def.outputs
    if signature_def.method_name == names.PREDICT_METHOD_NAME:
        return True
    if signature_def.method_name == names.REGRESS_METHOD_NAME:
        return _match(signature_def.inputs, {names.REGRESS_INPUTS: dtypes.string}) and _match(outputs, {names.REGRESS_OUTPUTS: dtypes.float32})
    if signature_def.method_name == names.CLASSIFY_METHOD_NAME:
        known = {names.CLASSIFY_OUTPUT_CLASSES: dtypes.string, names.CLASSIFY_OUTPUT_SCORES: dtypes.float32}
        return _match(signature_def.inputs, {names.CLASSIFY_INPUTS: dtypes.string}) and set(outputs) <= set(known) and _match(
            outputs, {name: known[name] for name in outputs})
    return False


def _match(infos: Any, wanted: dict[str, dtypes.DType]) -> bool:
    return set(infos) == set(wanted) and all(infos[name].dtype == dtype.as_datatype_enum for name, dtype in wanted.items())


def _shapes(infos: Any) -> dict[str, TensorShape]:
    return {name: TensorShape(info.tensor_shape) for name, info in infos.items()}


def _types(infos: Any) -> dict[str, dtypes.DType]:
    return {name: dtypes.as_dtype(info.dtype) for name, info in infos.items()}


def get_signature_def_input_shapes(signature: SignatureDef) -> dict[str, TensorShape]:
    """The shapes of a signature's inputs by name."""
    return _shapes(signature.inputs)


def get_signature_def_input_types(signature: SignatureDef) -> dict[str, dtypes.DType]:
    """The types of a signature's inputs by name."""
    return _types(signature.inputs)


def get_signature_def_output_shapes(signature: SignatureDef) -> dict[str, TensorShape]:
    """The shapes of a signature's outputs by name."""
    return _shapes(signature.outputs)


def get_signature_def_output_types(signature: SignatureDef) -> dict[str, dtypes.DType]:
    """The types of a signature's outputs by name."""
    return _types(signature.outputs)


def get_signature_def_by_key(meta_graph_def: Any, signature_def_key: str) -> SignatureDef:
    """``tf.contrib.saved_model.get_signature_def_by_key``. ValueError if the graph has no such signature."""
    if signature_def_key not in meta_graph_def.signature_def:
        raise ValueError(f"No SignatureDef with key '{signature_def_key}' found in MetaGraphDef.")
    return meta_graph_def.signature_def[signature_def_key]
