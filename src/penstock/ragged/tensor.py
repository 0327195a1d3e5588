"""``tf.RaggedTensor``: values, and where their rows begin and end."""
from __future__ import annotations

from typing import Any

from penstock.errors import InvalidArgumentError
from penstock.graph import dtypes as dt
from penstock.graph.composite import CompositeTensor
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape
from penstock.graph.stacks import default_session
from penstock.graph.static import constant_value
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import fill
from penstock.ops.array.pack import concat, stack
from penstock.ops.array.shape_ops import shape
from penstock.ops.flow.checks import assert_equal, assert_non_negative
from penstock.ops.flow.misc import with_dependencies
from penstock.ragged.partition import lengths_to_splits, longest, partition_tensor, row_count, row_splits_to_segment_ids, segment_ids_to_row_splits
from penstock.ragged.value import RaggedTensorValue, value_of


class RaggedTensor(CompositeTensor):
    """Rows of different lengths: row i is ``values[row_splits[i]:row_splits[i + 1]]``. Made by ``from_row_splits`` and its kin."""

    def __init__(self, values: Any, row_splits: Tensor, internal: bool = False) -> None:
        if not internal:
            raise ValueError("RaggedTensor constructor is private; please use one of the factory methods instead "
                             "(e.g., RaggedTensor.from_row_lengths())")
        if isinstance(values, RaggedTensor) and values.row_splits.dtype != row_splits.dtype:
            raise ValueError("values and row_splits must have the same row_splits dtype: "
                             f"{values.row_splits.dtype.name} vs. {row_splits.dtype.name}. Use with_row_splits_dtype().")
        row_splits.shape.assert_has_rank(1)
        values.shape.with_rank_at_least(1)
        self._values, self._row_splits = values, row_splits

    # --- made of other things ----------------------------------------------------------------------------------------

    @classmethod
    def from_row_splits(cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True) -> RaggedTensor:
        """Rows that begin at ``row_splits[i]`` and end before ``row_splits[i + 1]``."""
        if isinstance(row_splits, (list, tuple)) and not row_splits:
            raise ValueError("row_splits tensor may not be empty.")
        with name_scope(name, "RaggedFromRowSplits", [values, row_splits]):
            values, splits = _match(values, row_splits, "row_splits")
            if not validate:
                return cls(values, splits, internal=True)
            count = row_count(values if isinstance(values, Tensor) else values.row_splits, splits.dtype.base_dtype)
            count = count if isinstance(values, Tensor) else count - 1
            known = _valid_constant_splits(splits, values)
            wrong = "Arguments to from_row_splits do not form a valid RaggedTensor"
            checks = [] if known else [
                assert_equal(splits[0], to_tensor(0, splits.dtype.base_dtype), message=f"{wrong}:zero"),
                assert_non_negative(splits[1:] - splits[:-1], message=f"{wrong}:monotonic"),
                assert_equal(splits[-1], count, message=f"{wrong}:size")]
            return cls(values, with_dependencies(checks, splits) if checks else splits, internal=True)

    @classmethod
    def from_row_lengths(cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True) -> RaggedTensor:
        """Rows of these lengths."""
        with name_scope(name, "RaggedFromRowLengths", [values, row_lengths]):
            values, lengths = _match(values, row_lengths, "row_lengths")
            return cls.from_row_splits(values, lengths_to_splits(lengths), validate=validate)

    @classmethod
    def from_row_starts(cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True) -> RaggedTensor:
        """Rows that begin at these places."""
        with name_scope(name, "RaggedFromRowStarts", [values, row_starts]):
            values, starts = _match(values, row_starts, "row_starts")
            return cls.from_row_splits(values, concat([starts, [_rows(values, starts.dtype.base_dtype)]], axis=0), validate=validate)

    @classmethod
    def from_row_limits(cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True) -> RaggedTensor:
        """Rows that end before these places."""
        with name_scope(name, "RaggedFromRowLimits", [values, row_limits]):
            values, limits = _match(values, row_limits, "row_limits")
            return cls.from_row_splits(values, concat([to_tensor([0], limits.dtype.base_dtype), limits], axis=0), validate=validate)

    @classmethod
    def from_value_rowids(cls, values: Any, value_rowids: Any, nrows: Any = None, name: str | None = None, validate: bool = True) -> RaggedTensor:
        """Rows of the values that have the same (sorted) row number; ``nrows`` tells how many there are if the last are empty."""
        with name_scope(name, "RaggedFromValueRowIds", [values, value_rowids, nrows]):
            values, rowids = _match(values, value_rowids, "value_rowids")
            known, ids = constant_value(to_tensor(nrows)) if nrows is not None else None, constant_value(rowids)
            if known is not None and known < 0:
                raise ValueError(f"Expected nrows >= 0; got {int(known)}")
            if known is not None and ids is not None and ids.size and known < ids[-1] + 1:
                raise ValueError(f"Expected nrows >= value_rowids[-1] + 1; got nrows={int(known)}, value_rowids[-1]={int(ids[-1])}")
            wrong = "Arguments to from_value_rowids do not form a valid RaggedTensor"
            if validate and ids is None:
                rowids = with_dependencies([
                    assert_non_negative(rowids[1:] - rowids[:-1], message=f"{wrong}:monotonic"),
                    assert_equal(row_count(rowids, dt.int64), _rows(values, dt.int64), message=f"{wrong}:size")], rowids)
            elif validate and ids is not None and (ids[1:] < ids[:-1]).any():
                raise InvalidArgumentError(None, None, f"{wrong}: row numbers {ids} are not sorted")
            splits = segment_ids_to_row_splits(rowids, nrows, rowids.dtype.base_dtype)
            return cls(values, splits, internal=True)

    @classmethod
    def from_nested_row_splits(cls, flat_values: Any, nested_row_splits: Any, name: str | None = None, validate: bool = True) -> Any:
        """Rows of rows: ``nested_row_splits`` has the row_splits of each ragged dimension, the outermost first."""
        return _nest("nested_row_splits", cls.from_row_splits, flat_values, nested_row_splits, name, validate)

    @classmethod
    def from_nested_row_lengths(cls, flat_values: Any, nested_row_lengths: Any, name: str | None = None, validate: bool = True) -> Any:
        """Rows of rows, by their lengths."""
        return _nest("nested_row_lengths", cls.from_row_lengths, flat_values, nested_row_lengths, name, validate)

    @classmethod
    def from_nested_value_rowids(cls, flat_values: Any, nested_value_rowids: Any, nested_nrows: Any = None, name: str | None = None,
                                 validate: bool = True) -> Any:
        """Rows of rows, by the row numbers of their values."""
        if isinstance(nested_value_rowids, Tensor):
            raise TypeError("nested_value_rowids must be a list of Tensors")
        if nested_nrows is not None and len(nested_nrows) != len(nested_value_rowids):
            raise ValueError("nested_nrows must have the same length as nested_value_rowids")
        with name_scope(name, "RaggedFromNestedValueRowIds", [flat_values, *nested_value_rowids]):
            result = flat_values
            for rowids, nrows in zip(reversed(nested_value_rowids), reversed(nested_nrows or [None] * len(nested_value_rowids))):
                result = cls.from_value_rowids(result, rowids, nrows, validate=validate)
            return result

    # --- what it is made of ------------------------------------------------------------------------------------------

    values = property(lambda self: self._values, doc="The rows after one another: a Tensor, or a RaggedTensor if the rows are ragged themselves.")
    row_splits = property(lambda self: self._row_splits, doc="Where the rows begin and end, one more than there are rows.")
    dtype = property(lambda self: self._values.dtype, doc="The type of the values.")
    graph = property(lambda self: self._row_splits.graph, doc="The graph it belongs to.")

    @property
    def shape(self) -> TensorShape:
        """What is known of the shape; ragged dimensions are None."""
        count = self._row_splits.shape.dims[0].value
        return TensorShape([None if count is None else count - 1, None]).concatenate(self._values.shape[1:])

    def get_shape(self) -> TensorShape:
        """``shape``."""
        return self.shape

    @property
    def flat_values(self) -> Tensor:
        """The innermost values, a Tensor."""
        value: Any = self._values
        return value.flat_values if isinstance(value, RaggedTensor) else value

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The row_splits of all ragged dimensions, the outermost first."""
        return (self._row_splits, *(self._values.nested_row_splits if isinstance(self._values, RaggedTensor) else ()))

    @property
    def ragged_rank(self) -> int:
        """The number of ragged dimensions."""
        return len(self.nested_row_splits)

    def value_rowids(self, name: str | None = None) -> Tensor:
        """The number of the row that each value belongs to."""
        return row_splits_to_segment_ids(self._row_splits, name or "RaggedValueRowIds")

    def nested_value_rowids(self, name: str | None = None) -> tuple[Tensor, ...]:
        """``value_rowids`` of all ragged dimensions."""
        with name_scope(name, "RaggedNestedValueRowIds"):
            return (self.value_rowids(), *(self._values.nested_value_rowids() if isinstance(self._values, RaggedTensor) else ()))

    def nrows(self, out_type: Any = None, name: str | None = None) -> Tensor:
        """The number of rows."""
        with name_scope(name, "RaggedNRows"):
            return row_count(self._row_splits, out_type or self._row_splits.dtype.base_dtype) - 1

    def row_starts(self, name: str | None = None) -> Tensor:
        """Where the rows begin."""
        with name_scope(name, "RaggedRowStarts"):
            return self._row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Tensor:
        """Where the rows end."""
        with name_scope(name, "RaggedRowLimits"):
            return self._row_splits[1:]

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """How long the rows are; those of a deeper ``axis`` are a ragged tensor."""
        if axis == 0:
            return self.nrows()
        with name_scope(name, "RaggedRowLengths"):
            axis = axis if axis > 0 else axis + _static_rank(self, "row_lengths")
            if axis == 1:
                return self._row_splits[1:] - self._row_splits[:-1]
            if isinstance(self._values, RaggedTensor):
                return self.with_values(self._values.row_lengths(axis - 1))
            extents = shape(self._values, out_type=self._row_splits.dtype.base_dtype)
            return self.with_values(fill(extents[:axis - 1], extents[axis - 1]))

    def nested_row_lengths(self, name: str | None = None) -> tuple[Tensor, ...]:
        """``row_lengths`` of all ragged dimensions."""
        with name_scope(name, "RaggedNestedRowLengths"):
            return tuple([splits[1:] - splits[:-1] for splits in self.nested_row_splits])

    def bounding_shape(self, axis: Any = None, name: str | None = None, out_type: Any = None) -> Tensor:
        """The smallest shape that all rows fit into, or one of its extents."""
        dtype = self._row_splits.dtype.base_dtype if out_type is None else dt.as_dtype(out_type)
        with name_scope(name, "RaggedBoundingBox"):
            if axis == 0:
                return self.nrows(dtype)
            if axis == 1:
                return cast(longest(self.row_lengths()), dtype)
            longest_rows = [cast(longest(lengths), dtype) for lengths in self.nested_row_lengths()]
            whole = concat([stack([self.nrows(dtype), *longest_rows]), shape(self.flat_values, out_type=dtype)[1:]], axis=0)
            return whole if axis is None else whole[axis]

    # --- with other parts --------------------------------------------------------------------------------------------

    def with_values(self, new_values: Any) -> RaggedTensor:
        """The same rows of other values."""
        new_values = as_values(new_values)
        return RaggedTensor(*_same_partition_type(new_values, self._row_splits), internal=True)

    def with_flat_values(self, new_values: Any) -> RaggedTensor:
        """The same rows with other innermost values."""
        return self.with_values(self._values.with_flat_values(new_values) if isinstance(self._values, RaggedTensor) else new_values)

    def with_row_splits_dtype(self, dtype: Any) -> RaggedTensor:
        """The same, with row_splits of int32 or int64."""
        dtype = dt.as_dtype(dtype)
        if dtype not in (dt.int32, dt.int64):
            raise ValueError("dtype must be int32 or int64")
        if self._row_splits.dtype.base_dtype == dtype:
            return self
        values = self._values.with_row_splits_dtype(dtype) if isinstance(self._values, RaggedTensor) else self._values
        return RaggedTensor(values, cast(self._row_splits, dtype), internal=True)

    # --- values ------------------------------------------------------------------------------------------------------

    def to_list(self) -> list[Any]:
        """Its rows as lists of lists; in graphs only in a default session."""
        return self.eval().to_list()

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Its value, in ``session`` or the default session; in imperative style at once."""
        if hasattr(self._row_splits, "numpy"):
            return self._value(*[component.numpy() for component in self._components()])  # type: ignore[attr-defined]
        session = session or default_session()
        if session is None:
            raise ValueError("Cannot evaluate a RaggedTensor: no default session is registered. Use `with sess.as_default()` or pass a session.")
        return session.run(self, feed_dict)

    def consumers(self) -> list[Any]:
        """The operations that take one of its tensors."""
        return [op for component in self._components() for op in component.consumers()]

    def __repr__(self) -> str:
        if hasattr(self._row_splits, "numpy"):
            return f"<tf.RaggedTensor {self.to_list()}>"
        return f"tf.RaggedTensor(values={self._values!r}, row_splits={self._row_splits!r})"

    def __bool__(self) -> bool:
        raise TypeError("RaggedTensor may not be used as a boolean.")

    __nonzero__ = __bool__

    # --- as a composite ----------------------------------------------------------------------------------------------

    def _components(self) -> list[Tensor]:
        return [self.flat_values, *self.nested_row_splits]

    def _with_components(self, components: list[Any]) -> Any:
        return RaggedTensor.from_nested_row_splits(components[0], components[1:], validate=False)

    def _value(self, *arrays: Any) -> RaggedTensorValue:
        return value_of(list(arrays))

    def _value_components(self, value: Any) -> list[Any]:
        if not isinstance(value, RaggedTensorValue):
            raise TypeError("The value that is fed for a RaggedTensor must be a RaggedTensorValue (tf.ragged.constant_value makes one), "
                            f"not {value!r}.")
        return [value.flat_values, *value.nested_row_splits]


def is_ragged(value: Any) -> bool:
    """Whether ``value`` is a RaggedTensor or the value of one."""
    return isinstance(value, (RaggedTensor, RaggedTensorValue))


def as_values(value: Any) -> Any:
    """A RaggedTensor as it is; what a session returned for one as constants; everything else as a Tensor."""
    if isinstance(value, RaggedTensorValue):
        return RaggedTensor.from_nested_row_splits(value.flat_values, value.nested_row_splits, validate=False)
    return value if isinstance(value, RaggedTensor) else to_tensor(value, None, "values")


def convert_to_tensor_or_ragged_tensor(value: Any, dtype: Any = None, preferred_dtype: Any = None, name: str | None = None) -> Any:
    """A RaggedTensor as it is, everything else as a Tensor."""
    if is_ragged(value):
        value = as_values(value)
        if dtype is not None and not dt.as_dtype(dtype).is_compatible_with(value.dtype):
            raise ValueError(f"Tensor conversion requested dtype {dt.as_dtype(dtype).name} for RaggedTensor with dtype {value.dtype.name}: {value!r}")
        return value
    return to_tensor(value, None if dtype is None else dt.as_dtype(dtype), name, preferred=preferred_dtype)


def _match(values: Any, partition: Any, name: str) -> tuple[Any, Tensor]:
    """Values and a partition of them as tensors; the partition has the type of the values' own."""
    values = as_values(values)
    own = values.row_splits.dtype.base_dtype if isinstance(values, RaggedTensor) else None
    given = isinstance(partition, Tensor) or hasattr(partition, "dtype")
    return _same_partition_type(values, partition_tensor(partition, name, None if given else own))


def _same_partition_type(values: Any, splits: Tensor) -> tuple[Any, Tensor]:
    if isinstance(values, RaggedTensor) and values.row_splits.dtype.base_dtype != splits.dtype.base_dtype:
        raise ValueError(f"values.row_splits has type {values.row_splits.dtype.base_dtype.name}, the other partition {splits.dtype.base_dtype.name}: "
                         "use RaggedTensor.with_row_splits_dtype() or tf.cast to make them the same.")
    return values, splits


def _rows(values: Any, dtype: Any) -> Tensor:
    return values.nrows(dtype) if isinstance(values, RaggedTensor) else row_count(values, dtype)


def _valid_constant_splits(splits: Tensor, values: Any) -> bool:
    """Whether the splits are known now and right; InvalidArgumentError if they are known and wrong."""
    array, extents = constant_value(splits), values.shape.as_list() if values.shape.ndims is not None else [None]
    if array is None or extents[0] is None:
        return False
    if array.size == 0:
        raise ValueError("row_splits tensor may not be empty.")
    if array[0] != 0 or (array[1:] < array[:-1]).any() or array[-1] != extents[0]:
        raise InvalidArgumentError(None, None, f"Arguments to from_row_splits do not form a valid RaggedTensor: row_splits {array} begin with 0, "
                                               f"do not decrease, and end with the number of values, {extents[0]}")
    return True


def _nest(what: str, make: Any, flat_values: Any, partitions: Any, name: str | None, validate: bool) -> Any:
    if isinstance(partitions, Tensor):
        raise TypeError(f"{what} must be a list of Tensors")
    with name_scope(name, "RaggedFromNested", [flat_values, *partitions]):
        result = flat_values
        for partition in reversed(partitions):
            result = make(result, partition, validate=validate)
        return as_values(result)


def _static_rank(value: RaggedTensor, what: str) -> int:
    ndims = value.shape.ndims
    if ndims is None:
        raise ValueError(f"{what}: a negative axis needs a RaggedTensor whose rank is known.")
    return ndims
