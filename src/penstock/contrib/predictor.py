"""``tf.contrib.predictor``: a SavedModel, or the model of an estimator, as a function from arrays to arrays."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.checkpoint.checkpoint_state import latest_checkpoint
from penstock.contrib.learn.estimator import Estimator
from penstock.contrib.learn.exports import DEFAULT_INPUT_ALTERNATIVE_KEY, get_input_alternatives, get_output_alternatives
from penstock.contrib.learn.keys import ModeKeys
from penstock.estimator.estimator import Estimator as CoreEstimator
from penstock.estimator.mode_keys import ModeKeys as CoreModeKeys
from penstock.graph.graph import Graph
from penstock.platform import logging
from penstock.saved_model import loader
from penstock.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from penstock.session.session import Session
from penstock.train.monitored_session import MonitoredSession
from penstock.train.scaffold import ChiefSessionCreator

_TAGS = "serve"


class Predictor:
    """A model with an open session: called with {name: input}, it gives {name: output}."""

    _graph: Graph
    _session: Any
    _feed_tensors: dict[str, Any]
    _fetch_tensors: dict[str, Any]

    graph = property(lambda self: self._graph, doc="The graph of the model.")
    session = property(lambda self: self._session, doc="The session that runs it.")
    feed_tensors = property(lambda self: self._feed_tensors, doc="{name: tensor} of the inputs.")
    fetch_tensors = property(lambda self: self._fetch_tensors, doc="{name: tensor} of the outputs.")

    def __repr__(self) -> str:
        return f"{type(self).__name__} with feed tensors {self._feed_tensors} and fetch_tensors {self._fetch_tensors}"

    def __call__(self, input_dict: dict[str, Any]) -> dict[str, Any]:
        """The outputs for inputs; an input that is not given keeps its default."""
        unexpected = input_dict.keys() - self._feed_tensors.keys()
        if unexpected:
            raise ValueError(f"Got unexpected keys in input_dict: {unexpected}\nexpected: {set(self._feed_tensors)}")
        feeds = {self._feed_tensors[key]: value for key, value in input_dict.items() if value is not None}
        return self._session.run(self._fetch_tensors, feed_dict=feeds)

    def _use(self, signature: Any) -> None:
        """Takes inputs and outputs from a signature."""
        self._feed_tensors, self._fetch_tensors = ({key: self._graph.get_tensor_by_name(info.name) for key, info in infos.items()}
                                                   for infos in (signature.inputs, signature.outputs))


class SavedModelPredictor(Predictor):
    """What ``from_saved_model`` returns."""

    def __init__(self, export_dir: str, signature_def_key: str | None = None, signature_def: Any = None, input_names: Any = None,
                 output_names: Any = None, tags: str | None = None, graph: Graph | None = None, config: Any = None) -> None:
        if (input_names is None) != (output_names is None):
            raise ValueError("input_names and output_names must both be specified or both be unspecified.")
        if sum(given is not None for given in (signature_def_key, signature_def, input_names)) > 1:
            raise ValueError("You must specify at most one of signature_def_key OR signature_def OR(input_names AND output_names).")
        self._graph = graph or Graph()
        with self._graph.as_default():
            self._session = Session(config=config)
            definition = loader.load(self._session, (tags or _TAGS).split(","), export_dir)
        if input_names is None:
            self._use(signature_def or _signature(definition, signature_def_key or DEFAULT_SERVING_SIGNATURE_DEF_KEY))
        else:
            self._feed_tensors, self._fetch_tensors = ({key: self._graph.get_tensor_by_name(name) for key, name in names.items()}
                                                       for names in (input_names, output_names))


class CoreEstimatorPredictor(Predictor):
    """What ``from_estimator`` returns."""

    def __init__(self, estimator: CoreEstimator, serving_input_receiver_fn: Callable[[], Any], output_key: str | None = None,
                 graph: Graph | None = None, config: Any = None) -> None:
        self._graph, key = graph or Graph(), output_key or DEFAULT_SERVING_SIGNATURE_DEF_KEY
        with self._graph.as_default():
            receiver = serving_input_receiver_fn()
            outputs = estimator.model_fn(receiver.features, None, CoreModeKeys.PREDICT, estimator.config).export_outputs
            if key not in outputs:
                raise KeyError(f"output_key must be one of {list(outputs)}; got {key}")
            self._use(outputs[key].as_signature_def(receiver.receiver_tensors))
            self._session = MonitoredSession(ChiefSessionCreator(config=config, checkpoint_dir=estimator.model_dir))


class ContribEstimatorPredictor(Predictor):
    """What ``from_contrib_estimator`` returns."""

    def __init__(self, estimator: Estimator, prediction_input_fn: Callable[[], Any], input_alternative_key: str | None = None,
                 output_alternative_key: str | None = None, graph: Graph | None = None, config: Any = None) -> None:
        self._graph = graph or Graph()
        with self._graph.as_default():
            inputs = prediction_input_fn()
            ops = estimator.model_fn(inputs.features, None, ModeKeys.INFER, estimator.config)
            self._feed_tensors = get_input_alternatives(inputs)[0][input_alternative_key or DEFAULT_INPUT_ALTERNATIVE_KEY]
            alternatives, key = get_output_alternatives(ops, output_alternative_key)
            self._fetch_tensors = alternatives[key][1]
            creator = ChiefSessionCreator(config=config, checkpoint_filename_with_path=latest_checkpoint(estimator.model_dir))
            self._session = MonitoredSession(creator)


def _signature(definition: Any, key: str) -> Any:
    """A signature of the model, by its key or by that of an older exporter."""
    older = f"default_input_alternative:{key}"
    if key in definition.signature_def:
        return definition.signature_def[key]
    if older not in definition.signature_def:
        raise ValueError(f'Got signature_def_key "{key}". Available signatures are {list(definition.signature_def)}.')
    logging.warning('Could not find signature def "%s". Using "%s" instead', key, older)
    return definition.signature_def[older]


def from_saved_model(export_dir: str, signature_def_key: str | None = None, signature_def: Any = None, input_names: Any = None,
                     output_names: Any = None, tags: str | None = None, graph: Graph | None = None, config: Any = None) -> SavedModelPredictor:
    """``tf.contrib.predictor.from_saved_model``: a function of the model in ``export_dir``."""
    return SavedModelPredictor(export_dir, signature_def_key, signature_def, input_names, output_names, tags, graph, config)


def from_estimator(estimator: Any, serving_input_receiver_fn: Callable[[], Any], output_key: str | None = None,
                   graph: Graph | None = None, config: Any = None) -> CoreEstimatorPredictor:
    """``tf.contrib.predictor.from_estimator``: a function of the latest checkpoint of an Estimator of ``tf.estimator``."""
    if isinstance(estimator, Estimator):
        raise TypeError("Expected estimator to be of type tf.python.estimator.Estimator, but got type tf.contrib.learn.Estimator. You likely want to "
                        "call from_contrib_estimator.")
    return CoreEstimatorPredictor(estimator, serving_input_receiver_fn, output_key, graph, config)


def from_contrib_estimator(estimator: Any, prediction_input_fn: Callable[[], Any], input_alternative_key: str | None = None,
                           output_alternative_key: str | None = None, graph: Graph | None = None, config: Any = None) -> ContribEstimatorPredictor:
    """``tf.contrib.predictor.from_contrib_estimator``: a function of the latest checkpoint of an estimator of ``tf.contrib.learn``."""
    if isinstance(estimator, CoreEstimator):
        raise TypeError("Expected estimator to be of type tf.contrib.learn.Estimator, but got type tf.python.estimator.Estimator. You likely want to "
                        "call from_estimator.")
    return ContribEstimatorPredictor(estimator, prediction_input_fn, input_alternative_key, output_alternative_key, graph, config)
