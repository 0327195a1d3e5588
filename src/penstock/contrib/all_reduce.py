"""``tf.contrib.all_reduce.python.all_reduce``: graphs that give every device the reduction of the tensors of all devices.

``red_op`` reduces: two tensors in rings and in halving and doubling, a list of them where devices gather. ``un_op`` is applied to what is reduced.
NCCL's part is played by sums here: the first device of a task adds up, and the others copy.
"""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.graph.device import DeviceSpec
from penstock.graph.scopes import device as on_device

Reduce = Callable[..., Any]


def build_ring_all_reduce(input_tensors: list[Any], num_workers: int, num_subchunks: int, gpu_perm: list[int], red_op: Reduce,
                          un_op: Reduce | None = None) -> list[Any]:
    """Around a ring: each chunk is reduced on its way from device to device, then handed around."""
    if len(input_tensors) < 2:
        raise ValueError("input_tensors must be length 2 or longer")
    flat, shape = _flatten(input_tensors)
    devices, count = [each.device for each in flat], len(flat)
    rings = _rings(num_workers, num_subchunks, gpu_perm)
    pieces = [_padded_pieces(each, count * num_subchunks) for each in flat]
    chunks = [dict(enumerate(each)) for each in pieces]

    def hand_on(first: int, combine: Reduce) -> None:
        """Every device takes a chunk per ring from the one before it, as many times as there are others."""
        for tick in range(count - 1):
            taken = []
            for subchunk, ring in enumerate(rings):
                for rank, place in enumerate(ring):
                    chunk = (rank - first - tick) % count * num_subchunks + subchunk
                    with on_device(devices[place]):
                        taken.append((place, chunk, combine(chunks[ring[rank - 1]][chunk], chunks[place][chunk])))
            for place, chunk, value in taken:
                chunks[place][chunk] = value

    hand_on(2, red_op)
    if un_op:
        for subchunk, ring in enumerate(rings):
            for rank, place in enumerate(ring):
                chunk = rank * num_subchunks + subchunk
                with on_device(devices[place]):
                    chunks[place][chunk] = un_op(chunks[place][chunk])
    hand_on(1, lambda theirs, mine: tf.identity(theirs))
    results = []
    for place, device in enumerate(devices):
        with on_device(device):
            whole = tf.concat([chunks[place][chunk] for chunk in range(count * num_subchunks)], 0)
            results.append(tf.reshape(whole[:flat[0].shape.num_elements()], shape))
    return results


def build_recursive_hd_all_reduce(input_tensors: list[Any], red_op: Reduce, un_op: Reduce | None = None) -> list[Any]:
    """By halving and doubling: pairs of devices exchange halves, at distances 1, 2, 4, ... and back. It takes 2^n devices."""
    devices, count = [each.device for each in input_tensors], len(input_tensors)
    if count & (count - 1):
        raise ValueError("num_devices must be a power of 2")
    chunks, shape = _flatten(input_tensors)
    spans = [1 << hop for hop in range(count.bit_length() - 1)]
    for span in spans:
        halves = [tf.split(chunk, 2) for chunk in chunks]
        chunks = [_at(device, red_op, halves[index & ~span][bool(index & span)], halves[index | span][bool(index & span)])
                  for index, device in enumerate(devices)]
    if un_op:
        chunks = [un_op(chunk) for chunk in chunks]
    for span in reversed(spans):
        chunks = [_at(device, tf.concat, [chunks[index & ~span], chunks[index | span]], 0) for index, device in enumerate(devices)]
    return _reshape(chunks, shape)


def build_shuffle_all_reduce(input_tensors: list[Any], gather_devices: list[str], red_op: Reduce, un_op: Reduce | None = None) -> list[Any]:
    """By gathering: each of the gathering devices reduces a part of all tensors."""
    flat, shape = _flatten(input_tensors)
    shards = _gather(flat, gather_devices, red_op, un_op)
    return _reshape([_at(each.device, tf.concat, shards, 0) for each in flat], shape)


def build_nccl_all_reduce(input_tensors: list[Any], red_op: Reduce, un_op: Reduce | None = None) -> list[Any]:
    """Sums, on every device."""
    if inspect.unwrap(red_op) is not inspect.unwrap(tf.add):  # the public function may be a wrapper that takes ragged tensors
        raise ValueError("red_op not supported by NCCL all-reduce: ", red_op)
    total = _at(input_tensors[0].device, tf.add_n, input_tensors)
    copies = [_at(each.device, tf.identity, total) for each in input_tensors]
    return [_at(each.device, un_op, each) for each in copies] if un_op else copies


def build_nccl_then_ring(input_tensors: list[Any], subdiv: int, red_op: Reduce, un_op: Reduce | None = None) -> list[Any]:
    """Sums in each task, then a ring of tasks."""
    upper = _several(lambda tensors: build_ring_all_reduce(tensors, len(tensors), subdiv, [0], red_op, un_op), un_op)
    return _by_task(input_tensors, _nccl_sum(red_op), upper)


def build_nccl_then_recursive_hd(input_tensors: list[Any], red_op: Reduce, un_op: Reduce | None = None) -> list[Any]:
    """Sums in each task, then halving and doubling between tasks."""
    return _by_task(input_tensors, _nccl_sum(red_op), lambda tensors: build_recursive_hd_all_reduce(tensors, red_op, un_op))


def build_nccl_then_shuffle(input_tensors: list[Any], gather_devices: list[str], nccl_red_op: Reduce, shuffle_red_op: Reduce,
                            un_op: Reduce | None = None) -> list[Any]:
    """Sums in each task, then devices that gather from tasks."""
    return _by_task(input_tensors, _nccl_sum(nccl_red_op), lambda tensors: build_shuffle_all_reduce(tensors, gather_devices, shuffle_red_op, un_op))


def build_shuffle_then_ring(input_tensors: list[Any], gather_devices: list[str], subdiv: int, red_n_op: Reduce, red_op: Reduce,
                            un_op: Reduce | None = None) -> list[Any]:
    """A device that gathers in each task, then a ring of those."""
    upper = _several(lambda tensors: build_ring_all_reduce(tensors, len(tensors), subdiv, [0], red_op, un_op), un_op)
    return _by_task(input_tensors, _gathering(gather_devices, red_n_op), upper, gather_devices)


def build_shuffle_then_shuffle(input_tensors: list[Any], first_gather_devices: list[str], second_gather_devices: list[str], red_op: Reduce,
                               un_op: Reduce | None = None) -> list[Any]:
    """A device that gathers in each task, then devices that gather from those."""
    upper = _several(lambda tensors: build_shuffle_all_reduce(tensors, second_gather_devices, red_op, un_op), un_op)
    return _by_task(input_tensors, _gathering(first_gather_devices, red_op), upper, first_gather_devices)


# --- parts -----------------------------------------------------------------------------------------------------------

def _at(device: str, function: Reduce, *arguments: Any) -> Any:
    with on_device(device):
        return function(*arguments)


def _flatten(tensors: list[Any]) -> tuple[list[Any], Any]:
    """(the tensors as vectors, their shape)."""
    if not tensors:
        raise ValueError("tensors cannot be empty")
    shape = tensors[0].shape
    for each in tensors:
        shape = shape.merge_with(each.shape)
    if not shape.is_fully_defined():
        raise ValueError("Tensors must have statically known shape.")
    return (tensors if len(shape) == 1 else _reshape(tensors, [-1])), shape


def _reshape(tensors: list[Any], shape: Any) -> list[Any]:
    return [_at(each.device, tf.reshape, each, shape) for each in tensors]


def _padded_pieces(tensor: Any, pieces: int) -> list[Any]:
    """So many equal pieces; zeros fill up the end."""
    missing = -tensor.shape.num_elements() % pieces
    with tf.colocate_with(tensor):
        return tf.split(tf.concat([tensor, tf.zeros([missing], tensor.dtype)], 0) if missing else tensor, pieces)


def _rings(num_workers: int, num_subchunks: int, order: list[int]) -> list[list[int]]:
    """The devices in the order of each subchunk's ring: rotations of the order in each worker."""
    size = len(order)
    if num_subchunks > size:
        raise ValueError(f"num_subchunks {num_subchunks} must be <= num_gpus {size}")
    turn = max(1, size // num_subchunks)
    rotated = [order[subchunk * turn:] + order[:subchunk * turn] for subchunk in range(num_subchunks)]
    return [[worker * size + each for worker in range(num_workers) for each in ring] for ring in rotated]


def _gather(flat: list[Any], devices: list[str], red_op: Reduce, un_op: Reduce | None = None) -> list[Any]:
    """The reduced parts, one at each device; the last one is longer if they cannot be equal."""
    length = flat[0].shape.num_elements()
    size = length // len(devices)
    sizes = [size] * (len(devices) - 1) + [length - size * (len(devices) - 1)]
    parts = []
    for each in flat:
        with tf.colocate_with(each):
            parts.append(tf.split(each, sizes))
    return [_at(device, lambda values: un_op(red_op(values)) if un_op else red_op(values), [part[index] for part in parts])
            for index, device in enumerate(devices)]


def _several(reduce: Reduce, un_op: Reduce | None) -> Reduce:
    """The reduction of several tensors; one alone is reduced already."""
    return lambda tensors: reduce(tensors) if len(tensors) > 1 else [_at(each.device, un_op, each) if un_op else each for each in tensors]


def _nccl_sum(red_op: Reduce) -> Callable[[int, list[Any]], Any]:
    return lambda task, tensors: build_nccl_all_reduce(tensors, red_op)[0]


def _gathering(devices: list[str], red_op: Reduce) -> Callable[[int, list[Any]], Any]:
    return lambda task, tensors: _gather(tensors, [devices[task]], red_op)[0]


def _by_task(input_tensors: list[Any], lower: Callable[[int, list[Any]], Any], upper: Reduce, gather_devices: list[str] | None = None) -> list[Any]:
    """``lower`` reduces the tensors of a task to one, ``upper`` those of all tasks; each device gets a copy."""
    flat, shape = _flatten(input_tensors)
    tasks: dict[Any, list[Any]] = {}
    for each in flat:
        spec = DeviceSpec.from_string(each.device)
        if spec.task is None:
            raise AssertionError(f"failed to parse device {each.device}")
        tasks.setdefault((spec.job or "localhost", spec.replica or 0, spec.task), []).append(each)
    if gather_devices is not None and len(gather_devices) != len(tasks):
        raise ValueError("For shuffle hybrid, gather_devices must contain one device per worker. ")
    reduced = upper([lower(index, tensors) for index, tensors in enumerate(tasks.values())])
    copies = [_at(each.device, tf.identity, value) for value, tensors in zip(reduced, tasks.values(), strict=True) for each in tensors]
    return _reshape(copies, shape)
