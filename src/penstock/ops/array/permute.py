"""Moving elements: transpose, reverse, roll, tile, broadcast_to."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph import raw_ops
from penstock.graph.attrs import INT, TYPE
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.properties import Extents
from penstock.graph.scopes import name_scope
from penstock.graph.shape import Extent, TensorShape, brackets, unknown_shape
from penstock.ops.array.broadcast_gradient import reduce_to
from penstock.ops.array.pack import concat, stack
from penstock.ops.array.sequences import range as range_
from penstock.ops.array.shape_ops import INDEX_32, INDEX_64, as_array, known_elements, known_shape, rank, reshape, shape, size
from penstock.ops.common import INDEX, NUMERIC, at_most, canonical_axis, like, shape_text
from penstock.platform.deprecation import older_argument, renamed_args, warn_of_order

REVERSIBLE = (NUMERIC - {dt.uint32, dt.uint64}) | {dt.bool_, dt.string}


# --- transpose -------------------------------------------------------------------------------------------------------

def _transposed_shape(x: Tensor, perm: Tensor) -> Any:
    extents, order = x.shape.extents, known_elements(perm)
    length = len(extents) if extents is not None else None if order is None else len(order)
    if extents is None or order is None or None in order:
        return unknown_shape(length)
    if len(order) != len(extents):
        raise ValueError(f"Dimension must be {len(order)} but is {len(extents)}: perm {order} does not fit the input")
    return [extents[canonical_axis(axis, len(order), "perm dim")] for axis in order]  # that one is named twice is an error of the step


def _transpose(x: Any, perm: np.ndarray) -> np.ndarray:
    x = as_array(x)
    if len(perm) != x.ndim:
        raise invalid_argument(f"transpose expects a vector of size {x.ndim}. But input(1) is a vector of size {len(perm)}")
    axes = [int(axis) + x.ndim if axis < 0 else int(axis) for axis in perm]
    if sorted(axes) != list(range(x.ndim)):
        missing = next(axis for axis in range(x.ndim) if axis not in axes)
        raise invalid_argument(f"{missing} is missing from {{{','.join(str(axis) for axis in perm)}}}.")
    return x.transpose(axes)


def inverse(perm: Tensor) -> Any:
    """The inverse permutation: a constant if the permutation is known."""
    order = known_elements(perm)
    if order is None or None in order:
        return InvertPermutation(perm)
    return np.argsort([axis % len(order) for axis in order]).astype(perm.dtype.base_dtype.np)


@op("Transpose", "x: T, perm: Tperm -> y: T", T=TYPE, Tperm=INDEX_32)
class Transpose:
    """The axes in another order."""

    aliases = rearranges = permutes = True
    ranks = {"perm": 1}

    def shape(x, perm):
        return _transposed_shape(x, perm)

    def kernel(x, perm):
        return _transpose(x, perm)

    def native(emit, x, perm):
        return emit.move.view(_transpose, x, perm)

    gradient_reads = lambda op: [op.inputs[1]]

    def gradient(op, dy):
        return [transpose(dy, inverse(op.inputs[1])), None]


@op("ConjugateTranspose", "x: T, perm: Tperm -> y: T", T=TYPE, Tperm=INDEX_32)
class ConjugateTranspose:
    """The complex conjugate, with its axes in another order."""

    aliases = True  # of what is not complex
    ranks = {"perm": 1}

    def shape(x, perm):
        return _transposed_shape(x, perm)

    def kernel(x, perm):
        moved = _transpose(x, perm)
        return np.conj(moved) if moved.dtype.kind == "c" else moved

    def native(emit, x, perm):
        return emit.move.view(_transpose, x, perm) if x.dtype.kind != "c" else emit.unsupported("complex numbers")

    gradient_reads = lambda op: [op.inputs[1]]

    def gradient(op, dy):
        return [transpose(dy, inverse(op.inputs[1]), conjugate=True), None]


@op("InvertPermutation", "x: T -> y: T", T=INDEX_32)
class InvertPermutation:
    """y such that y[x[i]] = i."""

    ranks = {"x": 1}
    shape = like("x")

    def kernel(x):
        if np.ndim(x) != 1:
            raise invalid_argument("invert_permutation expects a 1D vector.")
        inverse = np.full_like(x, -1)
        for position in x:
            if not 0 <= position < len(x):
                raise invalid_argument(f"{position} is not between 0 and {len(x)}")
        inverse[x] = np.arange(len(x), dtype=x.dtype)
        if (inverse == -1).any():
            raise invalid_argument(f"{int(x[np.flatnonzero(np.bincount(x, minlength=len(x))[x] > 1)[0]])} is duplicated in the input.")
        return inverse

    gradient = None


def invert_permutation(x: Any, name: str | None = None) -> Tensor:
    """``tf.invert_permutation``: the permutation that undoes ``x``."""
    return InvertPermutation(x, name=name)


def transpose(a: Any, perm: Any = None, name: str = "transpose", conjugate: bool = False) -> Tensor:
    """``tf.transpose``: the axes in the order ``perm``, by default reversed."""
    with name_scope(name, "transpose", [a]) as scope:
        a = to_tensor(a, None, "a")
        op_type = ConjugateTranspose if conjugate and a.dtype.is_complex else Transpose
        if perm is None:
            if a.shape.ndims is not None:
                perm = np.arange(a.shape.ndims - 1, -1, -1, dtype=np.int32)
            else:
                ranks = rank(a)
                perm = (ranks - 1) - range_(0, ranks, 1)
        return op_type(a, perm, name=scope)


def matrix_transpose(a: Any, name: str = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """``tf.matrix_transpose``: the last two axes swapped."""
    with name_scope(name, None, None):
        a = to_tensor(a, None, "a")
        if a.shape.ndims is not None:
            if a.shape.ndims < 2:
                raise ValueError(f"Argument 'a' should be a (batch) matrix, with rank >= 2.  Found: {a.shape}")
            axes = list(range(a.shape.ndims))
            return transpose(a, [*axes[:-2], axes[-1], axes[-2]], conjugate=conjugate)
        ranks = rank(a)
        return transpose(a, concat([range_(0, ranks - 2, 1), stack([ranks - 1, ranks - 2])], 0), conjugate=conjugate)


# --- reverse ---------------------------------------------------------------------------------------------------------

@op("Reverse", "tensor: T, dims: bool -> output: T", T=REVERSIBLE - {dt.bfloat16})
class Reverse:
    """Some axes backwards, marked by bools; the form of old graphs."""

    ranks = {"dims": 1}
    aliases = True
    shape = like("tensor")

    def kernel(tensor, dims):
        if len(dims) != tensor.ndim:
            raise invalid_argument(f"'dims' must have the same number of values as 'input' has dimensions. 'input' has {tensor.ndim}'dims' has "
                                   f"{len(dims)} values")
        return np.flip(tensor, tuple(np.flatnonzero(dims).tolist()))

    def native(emit, tensor, dims):
        return emit.move.view(Reverse.kernel, tensor, dims)

    def gradient(op, dy):
        return [Reverse(dy, op.inputs[1]), None]


@op("ReverseV2", "tensor: T, axis: Tidx -> output: T", Tidx=INDEX_32, T=REVERSIBLE)
class ReverseV2:
    """Some axes backwards."""

    ranks = {"axis": 1}
    rank_words = {"axis": (1, "'dims' must be 1-dimension, not {rank}")}
    aliases = rearranges = True

    def shape(tensor, axis):
        axes = known_elements(axis)
        if tensor.shape.ndims is not None and axes is not None and None not in axes:
            canonical = [canonical_axis(each, tensor.shape.ndims) for each in axes]
            if len(set(canonical)) != len(canonical):
                raise ValueError(f"axis {next(a for a in canonical if canonical.count(a) > 1)} specified more than once.")
        return tensor.shape

    def kernel(tensor, axis):
        tensor = as_array(tensor)
        rank, axes = tensor.ndim, [int(each) for each in np.ravel(axis)]
        for index, each in enumerate(axes):
            if not -rank <= each < rank:
                raise invalid_argument(f"'axis'[{index}] = {each} is out of valid range [0, {rank - 1}]")
        if len({each % rank for each in axes}) != len(axes):
            raise invalid_argument(f"axis {axes} specified more than once.")
        return np.flip(tensor, tuple(axes))

    def native(emit, tensor, axis):
        return emit.move.view(ReverseV2.kernel, tensor, axis)

    def gradient(op, dy):
        return [ReverseV2(dy, op.inputs[1]), None]


@renamed_args(dims="axis")
def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """``tf.reverse``: some axes backwards."""
    if isinstance(axis, (list, tuple)) and axis and all(isinstance(each, (bool, np.bool_)) for each in axis):
        warn_of_order("tf.reverse", "tf.reverse(tensor, axis) with the numbers of the axes")  # it was told per axis whether to reverse it
        axis = to_tensor([index for index, wanted in enumerate(axis) if wanted], dt.int32)
    return ReverseV2(tensor, axis, name=name)


@op("ReverseSequence", "input: T, seq_lengths: Tlen -> output: T", seq_dim=INT, batch_dim=0, T=TYPE, Tlen=INDEX_64)
class ReverseSequence:
    """Per entry of the batch, the first elements of a sequence backwards; the rest stays."""

    ranks = {"seq_lengths": 1}

    def shape(input, seq_lengths, seq_dim, batch_dim):
        if input.shape.extents is None:
            return None
        extents = input.shape.as_list()
        if not 0 <= seq_dim < len(extents):
            raise ValueError(f"seq_dim must be < input rank: {seq_dim} vs. {len(extents)}")
        if not 0 <= batch_dim < len(extents):
            raise ValueError(f"batch_dim must be < input rank: {batch_dim} vs. {len(extents)}")
        lengths = seq_lengths.shape.with_rank(1)
        extents[batch_dim] = lengths[0].merge_with(extents[batch_dim]).value
        return extents

    def kernel(input, seq_lengths, seq_dim, batch_dim):
        if seq_dim == batch_dim:
            raise invalid_argument(f"batch_dim == seq_dim == {seq_dim}")
        if len(seq_lengths) != input.shape[batch_dim]:
            raise invalid_argument(f"Length of seq_lengths != input.dims({batch_dim}), ({len(seq_lengths)} vs. {input.shape[batch_dim]})")
        extent = input.shape[seq_dim]
        if len(seq_lengths) and not 0 <= seq_lengths.min() <= seq_lengths.max() <= extent:
            raise invalid_argument(f"seq_lens must lie in [0, {extent}], the extent of axis {seq_dim}, but are {seq_lengths.tolist()}")
        positions, lengths = np.arange(extent), seq_lengths[:, None]
        source = np.where(positions < lengths, lengths - 1 - positions, positions)
        moved = np.moveaxis(input, (batch_dim, seq_dim), (0, 1))
        reversed_ = moved[np.arange(len(seq_lengths))[:, None], source]
        return np.moveaxis(reversed_, (0, 1), (batch_dim, seq_dim))

    def native(emit, input, seq_lengths, seq_dim, batch_dim):
        return emit.scans.reverse_sequence(input, seq_lengths, seq_dim, batch_dim)

    def gradient(op, dy):
        return [ReverseSequence(dy, op.inputs[1], seq_dim=op.attrs["seq_dim"], batch_dim=op.attrs["batch_dim"]), None]


def reverse_sequence(input: Any, seq_lengths: Any, seq_axis: int | None = None, batch_axis: int | None = None, name: str | None = None,
                     seq_dim: int | None = None, batch_dim: int | None = None) -> Tensor:
    """``tf.reverse_sequence``: the first ``seq_lengths[i]`` elements of each sequence backwards."""
    seq_axis = older_argument("seq_axis", seq_axis, "seq_dim", seq_dim)
    batch_axis = older_argument("batch_axis", batch_axis, "batch_dim", batch_dim)
    return ReverseSequence(input, seq_lengths, seq_dim=seq_axis, batch_dim=0 if batch_axis is None else batch_axis, name=name)


# --- roll ------------------------------------------------------------------------------------------------------------

@op("Roll", "input: T, shift: Tshift, axis: Taxis -> output: T", T=TYPE, Tshift=INDEX, Taxis=INDEX)
class Roll:
    """Elements shifted along axes; what falls off one end comes in at the other."""

    ranks = {"shift": at_most(1), "axis": at_most(1)}
    rearranges = True

    def shape(input, shift, axis):
        input.shape.with_rank_at_least(1)
        return input.shape

    def kernel(input, shift, axis):
        if np.ndim(input) == 0:
            raise invalid_argument("input must be 1-D or higher")
        shifts, axes = np.ravel(shift).tolist(), np.ravel(axis).tolist()
        if len(shifts) != len(axes):
            raise invalid_argument("shift and axis must have the same size")
        for each in axes:
            if not -input.ndim <= each < input.ndim:
                raise invalid_argument(f"axis {each} is out of range")
        return np.roll(input, tuple(shifts), tuple(axes))

    def native(emit, input, shift, axis):
        return emit.move.roll(input, emit.known(shift), emit.known(axis))

    def gradient(op, dy):
        return [Roll(dy, -op.inputs[1], op.inputs[2]), None, None]


def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Tensor:
    """``tf.roll``: elements shifted along axes, around the ends."""
    return Roll(input, shift, axis, name=name)


# --- tile and broadcast_to -------------------------------------------------------------------------------------------

@op("Tile", "input: T, multiples: Tmultiples -> output: T", T=TYPE, Tmultiples=INDEX_32)
class Tile:
    """The tensor repeated along each axis."""

    gradient_nodes = 12
    gradient_reads = lambda op: [Extents(op.inputs[0]), op.inputs[1]]
    per_axis = ("multiples",)
    ranks = {"multiples": 1}
    rank_words = {"multiples": (1, "Expected multiples to be 1-D, but got shape {shape}")}
    rearranges = True

    def shape(input, multiples):
        extents, times = input.shape.extents, known_elements(multiples)
        if extents is None:
            return unknown_shape(None if times is None else len(times))
        if times is None:
            return unknown_shape(len(extents))
        if len(times) != len(extents):
            raise ValueError(f"Dimension must be {len(extents)} but is {len(times)}: multiples does not fit the input")
        return [_tiled_extent(extent, factor) for extent, factor in zip(extents, times)]

    def kernel(input, multiples):
        input = as_array(input)
        times = multiples.tolist()
        if len(times) != input.ndim:
            raise invalid_argument(f"Expected multiples argument to be a vector of length {input.ndim} but got length {len(times)}")
        for axis, factor in enumerate(times):
            if factor < 0:
                raise invalid_argument(f"Expected multiples[{axis}] >= 0, but got {factor}")
        return np.tile(input, times)

    def native(emit, input, multiples):
        return emit.move.tile(input, emit.known(multiples))

    def gradient(op, dy):
        """The gradients of all copies are summed: each axis is split into (copy, place)."""
        source, multiples = op.inputs
        extents, times = source.shape.extents, known_elements(multiples)
        if extents is not None and times is not None and extents.count(None) <= 1 and None not in times:
            split = [part for extent, factor in zip(extents, times) for part in (factor, -1 if extent is None else extent)]
            if split.count(-1) == 0 or 0 not in split:
                return [raw_ops.Sum(reshape(dy, split), list(range(0, len(split), 2))), None]
        sizes = shape(source, out_type=multiples.dtype.base_dtype)
        split = reshape(stack([multiples, sizes], axis=1), [-1])
        summed = raw_ops.Sum(reshape(dy, split), range_(0, size(split), 2))
        summed.set_shape(source.shape)
        return [summed, None]


def _tiled_extent(extent: Extent, factor: Extent) -> Extent:
    if factor is not None and factor < 0:
        raise ValueError(f"Expected multiples >= 0, but got {factor}")
    return None if extent is None or factor is None else extent * factor


def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:
    """``tf.tile``: the tensor repeated along each axis."""
    return Tile(input, multiples, name=name)


@op("BroadcastTo", "input: T, shape: Tidx -> output: T", T=TYPE, Tidx=INDEX_32)
class BroadcastTo:
    """The tensor repeated along axes of extent 1, and along new axes in front, to a given shape."""

    rank_words = {"shape": (1, "shape must be a vector of {{int32,int64}}, got shape {shape}")}
    gradient_nodes = 4
    gradient_reads = lambda op: [Extents(op.inputs[0]), op.inputs[1]]
    rearranges = True
    broadcasts = "input"

    def shape(input, shape):
        wanted = known_shape(shape)
        if wanted.ndims is not None and input.shape.ndims is not None:
            if input.shape.ndims > wanted.ndims:
                raise ValueError(f"Rank of input ({input.shape.ndims}) must be no greater than rank of output shape ({wanted.ndims}).")
            fits = TensorShape(wanted.as_list()[wanted.ndims - input.shape.ndims:])
            for extent, target in zip(input.shape.as_list(), fits.as_list()):
                if extent not in (1, None, target) and target is not None:
                    raise ValueError(f"Dimensions must be equal, but are {extent} and {target}")
        return wanted

    def kernel(input, shape):
        input = as_array(input)
        try:
            return np.array(np.broadcast_to(input, tuple(shape.tolist())), order="C")
        except ValueError:
            raise invalid_argument(f"Incompatible shapes: {shape_text(input)} vs. {brackets(shape)}") from None

    def native(emit, input, shape):
        return emit.move.broadcast(input, emit.known(shape))

    def gradient(op, dy):
        return [reduce_to(to_tensor(dy), op.inputs[0]), None]


def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """``tf.broadcast_to``: the tensor broadcast to a shape."""
    return BroadcastTo(input, shape, name=name)
