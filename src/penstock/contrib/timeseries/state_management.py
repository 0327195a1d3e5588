"""How models get their state in training: none, the start state, or what an earlier step left behind."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.timeseries.keys import FilteringFeatures, TrainEvalFeatures
from penstock.contrib.timeseries.model import ModelOutputs, TimeSeriesModel, replicate_state
from penstock.graph import nest
from penstock.train.lookup import MutableDenseHashTable


class PassthroughStateManager:
    """For models that need no state."""

    def __init__(self) -> None:
        self._input_statistics: Any = None
        self._graph_initialized = False

    def initialize_graph(self, model: TimeSeriesModel, input_statistics: Any = None) -> None:
        """Makes what the manager needs."""
        self._graph_initialized = True
        self._input_statistics = input_statistics

    def define_loss(self, model: TimeSeriesModel, features: dict[str, Any], mode: str) -> ModelOutputs:
        """The loss of the model."""
        if FilteringFeatures.STATE_TUPLE in features:
            raise ValueError("Overriding start state is not supported for this model.")
        return model.define_loss(features, mode)


class _OverridableStateManager(PassthroughStateManager):
    """For models whose state can be given."""

    def define_loss(self, model: TimeSeriesModel, features: dict[str, Any], mode: str) -> ModelOutputs:
        """The loss from the state that is given, or from that of the manager."""
        if FilteringFeatures.STATE_TUPLE not in features:
            return self._define_loss_with_saved_state(model=model, features=features, mode=mode)
        rest = {key: value for key, value in features.items() if key != FilteringFeatures.STATE_TUPLE}
        return model.get_batch_loss(features=rest, mode=mode, state=features[FilteringFeatures.STATE_TUPLE])

    def _define_loss_with_saved_state(self, model: TimeSeriesModel, features: dict[str, Any], mode: str) -> ModelOutputs:
        raise NotImplementedError(f"{type(self).__name__}._define_loss_with_saved_state")


class FilteringOnlyStateManager(_OverridableStateManager):
    """For models whose state is a window: it is given to filter, and not used in training."""

    def _define_loss_with_saved_state(self, model: TimeSeriesModel, features: dict[str, Any], mode: str) -> ModelOutputs:
        return model.define_loss(features, mode)


class ChainingStateManager(_OverridableStateManager):
    """For sequential models: the windows of a batch are parts of one series, and begin where an earlier step came to.

    States are kept in tables, one per ``state_saving_interval`` times.
    """

    def __init__(self, state_saving_interval: int = 20, checkpoint_state: bool = False) -> None:
        super().__init__()
        self._state_saving_interval, self._checkpoint_state = state_saving_interval, checkpoint_state
        self._start_state: Any = None
        self._tables: list[MutableDenseHashTable] = []

    def initialize_graph(self, model: TimeSeriesModel, input_statistics: Any = None) -> None:
        """Makes the tables."""
        super().initialize_graph(model, input_statistics)
        self._start_state = nest.map_structure(tf.convert_to_tensor, model.get_start_state())
        self._tables = [MutableDenseHashTable(tf.int64, each.dtype, tf.reshape(each, [each.shape.num_elements()]), empty_key=-1, deleted_key=-2,
                                              name=f"cached_states_{number}", checkpoint=self._checkpoint_state)
                        for number, each in enumerate(nest.flatten(self._start_state))]

    def _define_loss_with_saved_state(self, model: TimeSeriesModel, features: dict[str, Any], mode: str) -> ModelOutputs:
        if not self._graph_initialized:
            raise ValueError("The tables are not made yet: call initialize_graph() first.")
        loss, end_state, predictions = self._update_cached_states(model, features, mode)
        last = nest.map_structure(lambda each: each[-1][None], end_state)
        return ModelOutputs(loss, last, predictions, features[TrainEvalFeatures.TIMES])

    def _get_chunk_number(self, time: Any) -> Any:
        return time // self._state_saving_interval

    def _get_cached_states(self, times: Any) -> Any:
        """The state of each of a batch of times. At the start of the series it is the start state, so that its variables get gradients."""
        numbers = self._get_chunk_number(times)
        start = 0 if self._input_statistics is None else self._input_statistics.start_time
        is_start = tf.equal(numbers, tf.cast(self._get_chunk_number(start), numbers.dtype))
        first = replicate_state(self._start_state, tf.shape(times)[0])
        states = []
        for table, beginning, shape in zip(self._tables, nest.flatten(first), nest.flatten(self._start_state)):
            found = tf.reshape(table.lookup(numbers), tf.concat([tf.shape(numbers), tf.shape(shape)], 0))
            chosen = tf.where(is_start, beginning, found)
            chosen.set_shape(tf.TensorShape([times.shape[0]]).concatenate(shape.shape))
            states.append(chosen)
        return nest.pack_sequence_as(self._start_state, states)

    def _update_cached_states(self, model: Any, features: dict[str, Any], mode: str) -> tuple[Any, Any, dict[str, Any]]:
        """(loss, last states, predictions); the state after each time is kept for the next interval."""
        times = tf.cast(features[TrainEvalFeatures.TIMES], tf.int64)
        loss, states, predictions = model.per_step_batch_loss(features=features, mode=mode, state=self._get_cached_states(times[:, 0]))
        following = tf.concat([times[:, 1:], times[:, -1:] + 1], 1)
        numbers = tf.reshape(tf.maximum(self._get_chunk_number(following), self._get_chunk_number(times) + 1), [-1])
        kept = []
        for table, state, shape in zip(self._tables, nest.flatten(states), nest.flatten(self._start_state)):
            kept.append(table.insert(numbers, tf.reshape(tf.stop_gradient(state), [-1, shape.shape.num_elements()])))
        with tf.control_dependencies(kept):
            loss = tf.identity(loss)
        return loss, nest.map_structure(lambda each: each[:, -1], states), predictions
