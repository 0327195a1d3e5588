"""The outputs, losses and updates of a model that steps are made of: those of the model itself, or, under a strategy with several replicas, those of
its copies.

Each replica computes the outputs for its part of the batch, on its device. The parts are joined, so that losses and metrics are those of the whole
batch, and one optimizer applies their gradient: the sum of what the replicas would have. Only what looks at a batch as a whole differs from one
device: batch normalization has the statistics of each part, and moves its averages by their mean.
"""
from __future__ import annotations

from typing import Any

from penstock.graph import nest
from penstock.layers.branching import learning_phase
from penstock.layers.calls import call_arguments
from penstock.ops.array.pack import concat
from penstock.ops.array.shape_ops import shape
from penstock.variables.replicas import PerReplica


class Ends:
    """What of a model a step needs: its outputs, and losses and updates that its layers have added."""

    def __init__(self, model: Any) -> None:
        self._model = model

    @property
    def outputs(self) -> list[Any]:
        """The outputs for the whole batch."""
        return list(self._model.outputs)

    @property
    def losses(self) -> list[Any]:
        """The losses that layers have added."""
        return [*self._model.get_losses_for(None), *self._model.get_losses_for(self._model.inputs)]

    @property
    def updates(self) -> list[Any]:
        """The updates of layers that belong to a training step."""
        return [*self._model.get_updates_for(None), *self._model.get_updates_for(self._model.inputs)]


class ReplicatedEnds(Ends):
    """Those of the copies of a model, one per replica of a strategy."""

    def __init__(self, model: Any, strategy: Any) -> None:
        super().__init__(model)
        self._count = len(strategy.extended.worker_devices)
        self._parts = [[_part(tensor, number, self._count) for tensor in model.inputs] for number in range(self._count)]
        results = strategy.extended.call_for_each_replica(self._call, (PerReplica(self._parts),))
        self._outputs = [_concat_replicas(each) for each in zip(*(nest.flatten(part) for part in results.values))]

    def _call(self, inputs: list[Any]) -> Any:
        model = self._model
        if model._is_graph_network:
            return model(nest.pack_sequence_as(model._nested_inputs, inputs) if nest.is_nested(model._nested_inputs) else inputs[0])
        given = dict(zip(model.input_names, inputs)) if model._takes_names else inputs if model._takes_list else inputs[0]
        return model(given, **({"training": learning_phase()} if call_arguments(model.call).expects("training") else {}))

    @property
    def outputs(self) -> list[Any]:
        """The outputs of all replicas, one after the other."""
        return self._outputs

    @property
    def losses(self) -> list[Any]:
        """The losses of layers: those that depend on inputs are the means over replicas."""
        own = [loss / self._count for part in self._parts for loss in self._model.get_losses_for(part)]
        return [*self._model.get_losses_for(None), *own]

    @property
    def updates(self) -> list[Any]:
        """The updates of layers; replicas share those that they have merged."""
        made = [update for part in self._parts for update in self._model.get_updates_for(part)]
        return [*self._model.get_updates_for(None), *{id(update): update for update in made}.values()]


def ends_of(model: Any, strategy: Any) -> Ends:
    """What the steps of a model are made of."""
    return Ends(model) if strategy is None or len(strategy.extended.worker_devices) == 1 else ReplicatedEnds(model, strategy)


def _part(tensor: Any, number: int, count: int) -> Any:
    rows = shape(tensor)[0]
    return tensor[rows * number // count:rows * (number + 1) // count]


def _concat_replicas(parts: tuple[Any, ...]) -> Any:
    """One tensor of those of all replicas, with their masks."""
    whole = concat(list(parts), 0)
    masks = [getattr(part, "_keras_mask", None) for part in parts]
    if all(mask is not None for mask in masks):
        whole._keras_mask = concat(masks, 0)
    return whole
