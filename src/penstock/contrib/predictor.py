"""``tf.contrib.predictor``: a SavedModel as a function from arrays to arrays."""
from __future__ import annotations

from typing import Any

from penstock.graph.graph import Graph
from penstock.platform import logging
from penstock.saved_model import loader
from penstock.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from penstock.session.session import Session

_TAGS = "serve"


class SavedModelPredictor:
    """What ``from_saved_model`` returns: called with {name: input}, it gives {name: output}. The session stays open."""

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
            signature = signature_def or _signature(definition, signature_def_key or DEFAULT_SERVING_SIGNATURE_DEF_KEY)
            input_names, output_names = ({key: info.name for key, info in infos.items()} for infos in (signature.inputs, signature.outputs))
        self._feed_tensors, self._fetch_tensors = ({key: self._graph.get_tensor_by_name(name) for key, name in names.items()}
                                                   for names in (input_names, output_names))

    @property
    def graph(self) -> Graph:
        """The graph of the model."""
        return self._graph

    @property
    def session(self) -> Session:
        """The session that runs it."""
        return self._session

    @property
    def feed_tensors(self) -> dict[str, Any]:
        """{name: tensor} of the inputs."""
        return self._feed_tensors

    @property
    def fetch_tensors(self) -> dict[str, Any]:
        """{name: tensor} of the outputs."""
        return self._fetch_tensors

    def __repr__(self) -> str:
        return f"{type(self).__name__} with feed tensors {self._feed_tensors} and fetch_tensors {self._fetch_tensors}"

    def __call__(self, input_dict: dict[str, Any]) -> dict[str, Any]:
        """The outputs for inputs; an input that is not given keeps its default."""
        unexpected = input_dict.keys() - self._feed_tensors.keys()
        if unexpected:
            raise ValueError(f"Got unexpected keys in input_dict: {unexpected}\nexpected: {set(self._feed_tensors)}")
        feeds = {self._feed_tensors[key]: value for key, value in input_dict.items() if value is not None}
        return self._session.run(self._fetch_tensors, feed_dict=feeds)


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
