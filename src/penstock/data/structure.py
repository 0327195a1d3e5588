"""What an element consists of: a structure (``data/element_nest.py``) whose leaves are Specs.

A Spec says how one leaf travels through a pipeline as a tensor, its *component*: a dense tensor as itself, a sparse one as a vector of three variants
(so that it can be batched like a dense one), a dataset inside an element as a variant.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.data import element_nest
from penstock.graph import dtypes as dt
from penstock.graph.composite import SparseTensor, SparseTensorValue
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import DType, as_dtype
from penstock.graph.node import Operation, Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape, as_shape, unknown_shape
from penstock.ops.constant import identity
from penstock.ops.sparse.sparse_serialize import DeserializeSparse, serialize_many_sparse, serialize_sparse


class Spec:
    """A leaf: its type and shape, and ``kind``, the class of its values. This one is a tensor."""

    kind: Any = Tensor

    def __init__(self, dtype: DType, shape: TensorShape) -> None:
        self.dtype, self.shape = dtype, shape

    @property
    def component(self) -> tuple[DType, TensorShape]:
        """Type and shape of what travels."""
        return self.dtype, self.shape

    def encode(self, value: Any) -> Tensor:
        """The component for a value."""
        tensor = to_tensor(value, self.dtype)
        return identity(tensor) if tensor.dtype.is_ref else tensor

    def encode_rows(self, value: Any) -> Tensor:
        """The component whose slices are the components of the rows of a value."""
        return self.encode(value)

    def decode(self, tensor: Tensor) -> Any:
        """The value of a component."""
        tensor.set_shape(self.shape)
        return tensor

    def with_shape(self, shape: Any) -> Any:
        """The same with another shape."""
        return type(self)(self.dtype, as_shape(shape))

    def batched(self, length: int | None) -> Any:
        """The Spec of a batch."""
        return self.with_shape(TensorShape([length]).concatenate(self.shape))

    def unbatched(self) -> Any:
        """The Spec of a row."""
        if self.shape.ndims == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return self.with_shape(unknown_shape() if self.shape.ndims is None else self.shape[1:])

    def common(self, other: Any) -> Any:
        """The most precise Spec that both fit."""
        return self.with_shape(self.shape.most_specific_compatible_shape(other.shape))

    def accepts(self, other: Any) -> bool:
        """True if values of the other Spec can be of this one."""
        return type(self) is type(other) and self.dtype is other.dtype and self.shape.is_compatible_with(other.shape)

    # What output_types, output_shapes and output_classes show.
    @property
    def types(self) -> Any:
        """For ``output_types``."""
        return self.dtype

    @property
    def shapes(self) -> Any:
        """For ``output_shapes``."""
        return self.shape

    @property
    def classes(self) -> Any:
        """For ``output_classes``."""
        return self.kind

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        (dtype, shape), (other_dtype, other_shape) = self.component, other.component
        return dtype == other_dtype and shape.is_same_as(other_shape) and self.shape.is_same_as(other.shape)

    def __hash__(self) -> int:
        return hash((type(self), self.dtype, self.shape))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape}, dtype={self.dtype!r})"


class TensorSpec(Spec):
    """A dense tensor."""

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name=None)"  # they have none, but TensorFlow's could


class SparseTensorSpec(Spec):
    """A SparseTensor."""

    kind = SparseTensor

    @property
    def component(self) -> tuple[DType, TensorShape]:
        """A vector of three variants; in a batch, a row for each."""
        return dt.variant, unknown_shape()

    def encode(self, value: Any) -> Tensor:
        """All of the sparse tensor in one piece."""
        return serialize_sparse(value, out_type=dt.variant)

    def encode_rows(self, value: Any) -> Tensor:
        """Each row in one piece."""
        return serialize_many_sparse(value, out_type=dt.variant)

    def decode(self, tensor: Tensor) -> SparseTensor:
        """The sparse tensor."""
        indices, values, shape = DeserializeSparse(tensor, dtype=self.dtype)
        indices.set_shape([None, self.shape.ndims])
        shape.set_shape([self.shape.ndims])
        return SparseTensor(indices, values, shape)


class DatasetSpec(Spec):
    """A dataset inside an element. ``make`` turns its variant into a Dataset."""

    def __init__(self, structure: Any, make: Callable[[Tensor, Any], Any]) -> None:
        super().__init__(dt.variant, TensorShape(()))
        self.structure, self._make = structure, make

    @property
    def types(self) -> Any:
        """Itself: a dataset has no type of tensor."""
        return self

    shapes = classes = types

    def encode(self, value: Any) -> Tensor:
        """The variant."""
        tensor: Tensor = value._variant_tensor
        return tensor

    def decode(self, tensor: Tensor) -> Any:
        """The dataset."""
        return self._make(tensor, self.structure)

    def with_shape(self, shape: Any) -> Any:
        """A dataset cannot be batched or padded."""
        raise NotImplementedError("a dataset that is a part of an element cannot be batched: flat_map() over the elements first")

    def common(self, other: Any) -> Any:
        """Itself."""
        return self


class Structured:
    """What has elements of one structure: a dataset, an iterator."""

    _structure: Any

    @property
    def output_types(self) -> Any:
        """The types of an element."""
        return element_nest.map_structure(lambda spec: spec.types, self._structure)

    @property
    def output_shapes(self) -> Any:
        """The shapes of an element."""
        return element_nest.map_structure(lambda spec: spec.shapes, self._structure)

    @property
    def output_classes(self) -> Any:
        """The classes of an element: Tensor, SparseTensor."""
        return element_nest.map_structure(lambda spec: spec.classes, self._structure)

    @property
    def element_spec(self) -> Any:
        """What an element consists of."""
        return self._structure


# --- from values -----------------------------------------------------------------------------------------------------

def spec_of(value: Any) -> Spec:
    """The Spec of a Tensor, SparseTensor or Dataset."""
    if isinstance(value, SparseTensor):
        return SparseTensorSpec(value.dtype.base_dtype, value.shape)
    if hasattr(value, "_variant_tensor"):
        return DatasetSpec(value._structure, type(value)._of)
    return TensorSpec(value.dtype.base_dtype, value.shape)


def normalize(element: Any, name: str = "normalize_element") -> Any:
    """The element with every leaf a Tensor, SparseTensor or Dataset."""
    with name_scope(name):
        leaves = [_leaf(leaf, f"component_{index}") for index, leaf in enumerate(element_nest.flatten(element))]
    return element_nest.pack_sequence_as(element, leaves)


def _leaf(value: Any, name: str) -> Any:
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if isinstance(value, SparseTensor) or hasattr(value, "_variant_tensor"):
        return value
    if value is None or isinstance(value, Operation):
        raise TypeError(f"Unsupported value in an element of a dataset: {value}")
    return to_tensor(value, name=name)


def structure_of(element: Any) -> Any:
    """The Specs of a normalized element."""
    return element_nest.map_structure(spec_of, element)


def encode(structure: Any, element: Any) -> list[Tensor]:
    """The components of an element."""
    return [spec.encode(leaf) for spec, leaf in zip(element_nest.flatten(structure), element_nest.flatten(element))]


def decode(structure: Any, components: list[Tensor]) -> Any:
    """The element that has these components."""
    return element_nest.pack_sequence_as(structure, [spec.decode(tensor) for spec, tensor in zip(element_nest.flatten(structure), components)])


# --- attributes and legacy descriptions ------------------------------------------------------------------------------

def output_attrs(structure: Any) -> dict[str, Any]:
    """``output_types`` and ``output_shapes`` of a dataset op."""
    components = [spec.component for spec in element_nest.flatten(structure)]
    return {"output_types": [dtype for dtype, _ in components], "output_shapes": [shape for _, shape in components]}


def from_legacy(types: Any, shapes: Any = None, classes: Any = None) -> Any:
    """The structure for output_types, output_shapes and output_classes."""
    if shapes is None:
        shapes = element_nest.map_structure(lambda _: unknown_shape(), types)
    else:
        shapes = element_nest.pack_sequence_as(types, [as_shape(shape) for shape in element_nest.flatten_up_to(types, shapes)])
    if classes is None:
        classes = element_nest.map_structure(lambda _: Tensor, types)
    return element_nest.map_structure(_legacy_leaf, types, shapes, classes)


def _legacy_leaf(dtype: Any, shape: Any, kind: Any) -> Spec:
    if isinstance(dtype, Spec):
        return dtype
    return (SparseTensorSpec if kind is SparseTensor else TensorSpec)(as_dtype(dtype), as_shape(shape))


def check_fits(wanted: Any, given: Any, what: str) -> None:
    """TypeError or ValueError unless elements of ``given`` are elements of ``wanted``."""
    element_nest.assert_same_structure(wanted, given)
    for mine, theirs in zip(element_nest.flatten(wanted), element_nest.flatten(given)):
        if not mine.accepts(theirs):
            raise TypeError(f"{what}: expected {mine!r}, found {theirs!r}.")


def TensorStructure(dtype: Any, shape: Any) -> TensorSpec:
    """``tf.data.experimental.TensorStructure``: the Spec of a dense tensor."""
    return TensorSpec(as_dtype(dtype), as_shape(shape))


def SparseTensorStructure(dtype: Any, shape: Any) -> SparseTensorSpec:
    """``tf.data.experimental.SparseTensorStructure``: the Spec of a sparse tensor."""
    return SparseTensorSpec(as_dtype(dtype), as_shape(shape))


def structure_of_dataset(dataset_or_iterator: Any) -> Any:
    """``tf.data.experimental.get_structure``: what an element of a dataset or iterator consists of."""
    return dataset_or_iterator.element_spec
