"""SavedModelEstimator: an estimator whose model function is the graphs of a SavedModel.

An export with a graph per mode (``experimental_export_all_saved_models``) trains, evaluates and predicts; one for serving predicts alone. Its values
come from the SavedModel until there is a checkpoint in the estimator's own folder.
"""
from __future__ import annotations

from typing import Any

from penstock.checkpoint.contents import list_variables
from penstock.estimator.estimator import Estimator
from penstock.estimator.exporting import TAGS
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.spec import EstimatorSpec
from penstock.estimator.warm_start_settings import WarmStartSettings
from penstock.graph import dtypes
from penstock.graph.graph import Graph
from penstock.graph.scopes import get_collection_ref, get_default_graph
from penstock.graph.shape import TensorShape
from penstock.platform import logging
from penstock.saved_model import constants
from penstock.saved_model.loader import SavedModelLoader, init_op
from penstock.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from penstock.train.global_step import assert_global_step, get_global_step
from penstock.train.scaffold import Scaffold

_METHODS = {ModeKeys.TRAIN: "tensorflow/supervised/training", ModeKeys.EVAL: "tensorflow/supervised/eval"}
_COLLECTIONS = constants.ASSETS_KEY, constants.LEGACY_INIT_OP_KEY, constants.MAIN_OP_KEY, constants.TRAIN_OP_KEY


class SavedModelEstimator(Estimator):
    """``tf.contrib.estimator.SavedModelEstimator``: trains, evaluates and asks the graphs of a SavedModel that an estimator has exported."""

    def __init__(self, saved_model_dir: str, model_dir: str | None = None) -> None:
        self.saved_model_dir = saved_model_dir
        self.saved_model_loader = SavedModelLoader(saved_model_dir)
        path = self.saved_model_loader.variables_path
        super().__init__(self._model_of_graph, model_dir, warm_start_from=WarmStartSettings(path, [name for name, _ in list_variables(path)]))
        self._available_modes = [mode for mode in (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT) if self._signature(mode) is not None]
        logging.info("Available modes for Estimator: %s", self._available_modes)

    def _signature(self, mode: str) -> Any:
        """The signature of a mode; None if the SavedModel has none."""
        try:
            signatures = self.saved_model_loader.get_meta_graph_def_from_tags(TAGS[mode]).signature_def
        except RuntimeError:
            logging.warning("%s mode not found in SavedModel.", mode)
            return None
        key = DEFAULT_SERVING_SIGNATURE_DEF_KEY if mode == ModeKeys.PREDICT else mode
        if key not in signatures:
            logging.warning('Metagraph for mode %s was found, but SignatureDef with key "%s" is missing.', mode, key)
            return None
        return signatures[key]

    def _create_global_step(self, graph: Graph) -> None:
        """The graph of the SavedModel has one."""

    def _model_of_graph(self, features: Any, labels: Any, mode: str) -> EstimatorSpec:
        if mode not in self._available_modes:
            raise RuntimeError(f"{mode} mode is not available in the SavedModel {self.saved_model_dir}, which has {self._available_modes}. "
                               "Was it exported by experimental_export_all_saved_models with a receiver function for this mode?")
        graph = get_default_graph()
        if get_global_step(graph) is not None:
            raise RuntimeError("Graph must not contain a global step tensor before the SavedModel is loaded. Please make sure that the input "
                               "function does not create a global step.")
        signature = self._signature(mode)
        names = [info.name for info in signature.outputs.values()]
        _, elements = self.saved_model_loader.load_graph(graph, TAGS[mode], input_map=_input_map(signature, features, labels), return_elements=names)
        assert_global_step(get_global_step(graph))
        outputs = dict(zip(signature.outputs, elements, strict=True))
        train_ops = get_collection_ref(constants.TRAIN_OP_KEY)
        if len(train_ops) > 1:
            raise RuntimeError("Multiple ops found in the train_op collection.")
        train_op = train_ops[0] if train_ops else None
        definition = self.saved_model_loader.get_meta_graph_def_from_tags(TAGS[mode])
        scaffold = Scaffold(local_init_op=init_op(definition, graph, None))
        for key in _COLLECTIONS:
            get_collection_ref(key).clear()
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(mode, outputs, scaffold=scaffold)
        if signature.method_name != _METHODS[mode]:
            raise RuntimeError(f"Invalid SignatureDef method name for mode {mode}.\n\tExpected: {_METHODS[mode]}\n\tGot: {signature.method_name}\n"
                               "Please ensure that the SavedModel was exported with `tf.estimator.experimental_export_all_saved_models()`.")
        predictions = {key: value for key, value in outputs.items() if key.startswith("predictions/")}
        return EstimatorSpec(mode, predictions, outputs["loss"], train_op, _metrics(outputs), scaffold=scaffold)


def _metrics(outputs: dict[str, Any]) -> dict[str, Any]:
    """{metrics/name: (value, update)}."""
    names = [key.removesuffix("/value") for key in outputs if key.startswith("metrics/") and key.endswith("/value")]
    return {name: (outputs[f"{name}/value"], outputs[f"{name}/update_op"]) for name in names if f"{name}/update_op" in outputs}


def _input_map(signature: Any, features: Any, labels: Any) -> dict[str, Any]:
    """{name of an input of the graph: the feature or label that takes its place}."""
    given = dict(features) if isinstance(features, dict) else {"feature": features}
    if labels is not None:
        given = {**(labels if isinstance(labels, dict) else {"label": labels}), **given}
    replaced = {}
    for key, info in signature.inputs.items():
        if key not in given:
            raise ValueError(f'Key "{key}" not found in features or labels passed in to the model function. All required keys: '
                             f"{sorted(signature.inputs)}")
        _check(given[key], info, key)
        name = info.name.partition(":")[0]
        replaced[name] = replaced["^" + name] = given[key]
    return replaced


def _check(tensor: Any, info: Any, name: str) -> None:
    wanted, shape = dtypes.as_dtype(info.dtype), TensorShape(info.tensor_shape)
    problems = [f"\n\tExpected dtype: {wanted}, Got: {tensor.dtype}"] if tensor.dtype != wanted else []
    problems += [f"\n\tExpected shape: {shape}, Got: {tensor.shape}"] if not tensor.shape.is_compatible_with(shape) else []
    if problems:
        raise ValueError(f"Tensor shape and/or dtype validation failed for input {name}:{''.join(problems)}")
