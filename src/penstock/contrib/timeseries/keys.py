"""The names under which features, results and states travel between inputs, models and exported signatures."""
from __future__ import annotations


class State:
    """A model's state: as a tuple in Python, and with a number behind the prefix in a signature."""

    STATE_TUPLE = "start_tuple"
    STATE_PREFIX = "model_state"


class Times:
    """When something was observed, or is to be predicted."""

    TIMES = "times"


class Values:
    """What was observed."""

    VALUES = "values"


class TrainEvalFeatures(Times, Values):
    """``tf.contrib.timeseries.TrainEvalFeatures``: what models are trained and evaluated with."""


class PredictionFeatures(Times, State):
    """What predictions start from."""


class FilteringFeatures(Times, Values, State):
    """What a state is updated with."""


class PredictionResults(Times):
    """What predictions tell, beside the values of the model."""


class FilteringResults(Times, State):
    """``tf.contrib.timeseries.FilteringResults``: what an evaluation tells, beside its metrics."""


class SavedModelLabels:
    """The signatures of an exported model."""

    PREDICT = "serving_default"
    FILTER = "filter"
    COLD_START_FILTER = "cold_start_filter"
