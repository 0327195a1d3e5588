"""``tf.contrib.timeseries.saved_model_utils``: an exported model filters and predicts."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.contrib.timeseries.head import state_to_dictionary
from penstock.contrib.timeseries.inputs import times_and_first
from penstock.contrib.timeseries.keys import FilteringFeatures, FilteringResults, PredictionFeatures, PredictionResults, SavedModelLabels
from penstock.contrib.timeseries.readers import canonicalize_numpy_data


def _run(signatures: Any, label: str, session: Any, features: dict[str, Any], continue_from: dict[str, Any] | None = None) -> dict[str, Any]:
    """The outputs of a signature, of arrays and the state that ``continue_from`` has."""
    signature = signatures.signature_def[label]
    given = dict(features)
    if continue_from is not None:
        state = continue_from.get(FilteringResults.STATE_TUPLE)
        prefix = FilteringFeatures.STATE_PREFIX
        given.update({key: value for key, value in continue_from.items() if key.startswith(prefix)} if state is None else state_to_dictionary(state))
    tensor_of = session.graph.get_tensor_by_name
    feeds = {tensor_of(signature.inputs[key].name): np.asarray(value) for key, value in given.items() if key in signature.inputs}
    return session.run({key: tensor_of(info.name) for key, info in signature.outputs.items()}, feeds)  # type: ignore[no-any-return]


def _filtered(outputs: dict[str, Any], features: dict[str, Any]) -> dict[str, Any]:
    return {**outputs, FilteringResults.TIMES: features[FilteringFeatures.TIMES]}


def cold_start_filter(signatures: Any, session: Any, features: dict[str, Any]) -> dict[str, Any]:
    """The state after some observations, from the start state of the model."""
    features = canonicalize_numpy_data(features, require_single_batch=False)
    return _filtered(_run(signatures, SavedModelLabels.COLD_START_FILTER, session, features), features)


def filter_continuation(continue_from: dict[str, Any], signatures: Any, session: Any, features: dict[str, Any]) -> dict[str, Any]:
    """The state after some more observations."""
    features = canonicalize_numpy_data(features, require_single_batch=False)
    return _filtered(_run(signatures, SavedModelLabels.FILTER, session, features, continue_from), features)


def predict_continuation(continue_from: dict[str, Any], signatures: Any, session: Any, steps: int | None = None, times: Any = None,
                         exogenous_features: dict[str, Any] | None = None) -> dict[str, Any]:
    """Predictions after an evaluation or some observations."""
    wanted = times_and_first(times, steps, continue_from)
    outputs = _run(signatures, SavedModelLabels.PREDICT, session, {PredictionFeatures.TIMES: wanted, **(exogenous_features or {})}, continue_from)
    return {**outputs, PredictionResults.TIMES: wanted}
