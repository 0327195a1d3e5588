"""What a call of a layer leaves behind besides its outputs: losses to be added to the model's, and updates to be run with a step."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from penstock.graph import dtypes, nest
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Operation, Tensor
from penstock.imperative.symbolic import is_imperative
from penstock.layers import settings
from penstock.layers.calls import current_call, outermost_call


class Effect(NamedTuple):
    """A loss or an update, and whether it holds for all inputs of the layer."""

    value: Any
    unconditional: bool

    @property
    def is_of_values(self) -> bool:
        """Whether a call with values, or of a traced function, has left it, and not one that built a graph."""
        return is_imperative(self.value.op.graph)


# A function (layer, value, aggregation, name) that has a layer report a value. Keras, whose metrics stand above this folder, adds its own.
metric_adders: list[Callable[..., None]] = []


class DeferredLoss:
    """A loss that a function without arguments makes, each time it is asked for, as TensorFlow does: seeds count its operations."""

    def __init__(self, function: Any, unconditional: bool) -> None:
        self._function, self._unconditional = function, unconditional

    def effect(self) -> Effect | None:
        """The loss in the default graph; None if the function made none."""
        value = self._function()
        return None if value is None else Effect(as_loss(value), self._unconditional)


def as_loss(value: Any) -> Tensor:
    """A loss as a tensor."""
    return value if isinstance(value, Tensor) else to_tensor(value, dtype=dtypes.as_dtype(settings.floatx()))


class Effects:
    """The part of a layer that collects losses and updates, its own and those of the layers in it."""

    trainable: bool
    stateful: bool

    def __init__(self) -> None:
        self._losses: list[Effect] = []
        self._call_of_losses: Any = None  # the call with values that has left losses
        self._callable_losses: list[DeferredLoss] = []
        self._updates: list[Effect] = []

    def _sublayers(self) -> Sequence[Any]:
        raise NotImplementedError

    # --- losses ------------------------------------------------------------------------------------------------------

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Adds losses: tensors, or functions without arguments that make them. Those with ``inputs`` hold for these inputs only."""
        for loss in nest.flatten(losses):
            if callable(loss):
                self._callable_losses.append(DeferredLoss(loss, inputs is None))
            elif loss is not None:
                value = as_loss(loss)
                effect = Effect(value, inputs is None)
                call = outermost_call()
                if effect.is_of_values and call is not None and call is not self._call_of_losses:
                    self._call_of_losses = call
                    self._drop_losses_of_values()
                self._losses.append(effect)

    def _drop_losses_of_values(self) -> None:
        self._losses = [effect for effect in self._losses if not effect.is_of_values]

    def forget_losses_of_values(self) -> None:
        """Drops the losses that earlier calls with values have left here and in the layers inside; those of graphs stay."""
        self._drop_losses_of_values()
        for layer in self._sublayers():
            layer.forget_losses_of_values()

    def _loss_effects(self) -> list[Effect]:
        deferred = [each.effect() for each in self._callable_losses]
        imperative = is_imperative(default_graph())
        own = [effect for effect in self._losses if effect.is_of_values == imperative]
        own = own or (list(self._losses) if imperative else [])  # of values if there are any, as in TensorFlow
        own += [effect for effect in deferred if effect is not None]
        return own + [effect for layer in self._sublayers() for effect in layer._loss_effects()]

    @property
    def losses(self) -> list[Any]:
        """The losses of this layer and of those in it."""
        return [effect.value for effect in self._loss_effects()]

    def get_losses_for(self, inputs: Any) -> list[Any]:
        """The losses that depend on ``inputs``; with None, those that hold for all."""
        return _effects_for(inputs, self._loss_effects())

    # --- metrics -----------------------------------------------------------------------------------------------------

    def add_metric(self, value: Any, aggregation: str | None = None, name: str | None = None) -> None:
        """Has training report a value under ``name``: with the aggregation "mean" its mean over batches."""
        if not metric_adders:
            raise RuntimeError("Metrics of layers are part of tf.keras: make the layer part of a tf.keras.Model.")
        metric_adders[0](self, value, aggregation, name)

    # --- updates -----------------------------------------------------------------------------------------------------

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Adds operations (or functions without arguments that make them) which are to be run with each step."""
        call = current_call()
        relevant = call.inputs if call is not None else [node.input_tensors for node in getattr(self, "_inbound_nodes", ())]
        for update in updates if isinstance(updates, (list, tuple)) else [updates]:
            operation = _operation(update() if callable(update) else update)
            if is_imperative(operation.graph):  # it is run anyway
                continue
            self._updates.append(Effect(operation, not reachable(nest.flatten(relevant), [operation])))

    def _update_effects(self) -> list[Effect]:
        if not self.trainable and not self.stateful:
            return []
        return self._updates + [effect for layer in self._sublayers() for effect in layer._update_effects()]

    @property
    def updates(self) -> list[Any]:
        """The updates of this layer and of those in it; none while it is not trained."""
        return [effect.value for effect in self._update_effects()]

    def get_updates_for(self, inputs: Any) -> list[Any]:
        """The updates that depend on ``inputs``; with None, those that hold for all."""
        return _effects_for(inputs, self._update_effects())


def _operation(update: Any) -> Operation:
    if isinstance(update, Operation):
        return update
    return update.op if hasattr(update, "op") else to_tensor(update).op


def _effects_for(inputs: Any, effects: Iterable[Effect]) -> list[Any]:
    if inputs is None:
        return [effect.value for effect in effects if effect.unconditional]
    sources = nest.flatten(inputs)
    return [effect.value for effect in effects if not effect.unconditional and reachable(sources, [effect.value])]


def reachable(sources: Iterable[Any], targets: Iterable[Any]) -> bool:
    """Whether some target, a tensor or an operation, is computed of one of the ``sources``."""
    wanted = {getattr(source, "op", source) for source in sources}
    pending = [getattr(target, "op", target) for target in targets]
    seen = set(pending)
    while pending:
        op = pending.pop()
        if op in wanted:
            return True
        new = {*(tensor.op for tensor in op.inputs), *op.control_inputs} - seen
        seen |= new
        pending += new
    return False
