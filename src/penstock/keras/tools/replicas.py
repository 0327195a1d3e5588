"""``multi_gpu_model``: copies of a model on several devices, each with a part of the batch."""
from __future__ import annotations

from typing import Any

from penstock.graph import nest
from penstock.graph.scopes import device, name_scope
from penstock.keras.layers.function import Lambda
from penstock.keras.layers.merge import concatenate
from penstock.keras.models import Model
from penstock.layers.sessions import current_session
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

    Copies go to ``devices``, in turn; without them to the CPU devices of the session (``ConfigProto(device_count={"CPU": 2})`` makes two). Outputs
    are always joined on a CPU, and weights always live there.
    """
    count = len(gpus) if isinstance(gpus, (list, tuple)) else gpus
    if count < 2:
        needed = "len(gpus) >= 2" if isinstance(gpus, (list, tuple)) else "gpus >= 2"
        raise ValueError(f"For multi-gpu usage to be effective, call `multi_gpu_model` with `{needed}`. Received: `gpus={gpus}`")
    places = list(devices or (each.name for each in current_session().list_devices() if each.device_type == "CPU"))
    outputs: list[list[Any]] = [[] for _ in model.outputs]
    for index in range(count):
        with device(places[index % len(places)]), name_scope(f"replica_{index}"):
            inputs = [Lambda(_part, output_shape=tuple(x.shape.as_list()[1:]), arguments={"index": index, "parts": count})(x) for x in model.inputs]
            made = model(nest.pack_sequence_as(model._nested_inputs, inputs) if nest.is_nested(model._nested_inputs) else inputs[0])
            for collected, output in zip(outputs, nest.flatten(made)):
                collected.append(output)
    merged = [concatenate(parts, axis=0, name=name) for parts, name in zip(outputs, model.output_names)]
    return Model(model.inputs, merged)
