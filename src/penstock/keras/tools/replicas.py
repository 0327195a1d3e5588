"""``multi_gpu_model``: copies of a model on several devices, each with a part of the batch."""
from __future__ import annotations

from typing import Any

from penstock.graph import nest
from penstock.graph.scopes import device, name_scope
from penstock.keras.layers.function import Lambda
from penstock.keras.layers.merge import concatenate
from penstock.keras.models import Model
from penstock.ops.array.pack import concat
from penstock.ops.array.shape_ops import shape
from penstock.ops.array.slicing import slice_


def _part(x: Any, index: int, parts: int) -> Any:
    """One part of a batch; the last part takes what is left."""
    extents = shape(x)
    step = extents[:1] // parts
    size = extents[:1] - step * index if index == parts - 1 else step
    rest = extents[1:]
    return slice_(x, concat([step, rest * 0], 0) * index, concat([size, rest], 0))


def multi_gpu_model(model: Any, gpus: Any, cpu_merge: bool = True, cpu_relocation: bool = False, devices: Any = None) -> Any:
    """``tf.keras.utils.multi_gpu_model``: the batch is split, and the outputs are joined. ``gpus`` is the number of copies.

    Copies go to ``devices``; without them to the CPUs /cpu:0, /cpu:1 and so on, as far as the session has them.
    """
    count = len(gpus) if isinstance(gpus, (list, tuple)) else gpus
    if count < 2:
        raise ValueError(f"For multi-gpu usage to be effective, call `multi_gpu_model` with `gpus >= 2`. Received: `gpus={gpus}`")
    places = devices or [None] * count
    outputs: list[list[Any]] = [[] for _ in model.outputs]
    for index, place in enumerate(places[:count]):
        with device(place), name_scope(f"replica_{index}"):
            inputs = [Lambda(_part, output_shape=tuple(x.shape.as_list()[1:]), arguments={"index": index, "parts": count})(x) for x in model.inputs]
            made = model(nest.pack_sequence_as(model._nested_inputs, inputs) if nest.is_nested(model._nested_inputs) else inputs[0])
            for collected, output in zip(outputs, nest.flatten(made)):
                collected.append(output)
    merged = [concatenate(parts, axis=0, name=name) for parts, name in zip(outputs, model.output_names)]
    return Model(model.inputs, merged)
