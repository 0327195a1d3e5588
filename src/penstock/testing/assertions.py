"""Comparisons of arrays and tensors for test cases. Tensors are evaluated in the session of the test."""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import ml_dtypes
import numpy as np
from google.protobuf import text_format

from penstock.errors import OpError
from penstock.graph.composite import IndexedSlices, SparseTensor
from penstock.graph.device import canonical_name
from penstock.graph.dtypes import as_dtype
from penstock.graph.node import Operation, Tensor
from penstock.graph.tensor_proto import to_array


class ArrayAssertions:
    """A mixin for ``unittest.TestCase``. `evaluate` comes from the test case."""

    def _array(self, value: Any) -> np.ndarray:
        if isinstance(value, (Tensor, SparseTensor, IndexedSlices)) or hasattr(value, "initialized_value"):
            value = self.evaluate(value)
        if isinstance(value, (list, tuple)) and any(isinstance(item, Tensor) for item in value):
            value = self.evaluate(list(value))
        array = np.asarray(value)
        return to_array(array) if array.dtype.kind in "SU" else array  # text becomes bytes, as it does in a tensor

    def _check_shapes(self, a: np.ndarray, b: np.ndarray, msg: Any) -> None:
        if a.shape != b.shape:
            self.fail(self._formatMessage(msg, f"Shape mismatch: expected {a.shape}, got {b.shape} with contents {b}."))

    def _check_where(self, good: Any, a: np.ndarray, b: Any, what: str, msg: Any) -> None:
        bad = ~np.broadcast_to(np.asarray(good), a.shape)
        if bad.any():
            right = np.broadcast_to(np.asarray(b), a.shape)
            lines = [f"{what}: {bad.sum()} of {a.size} elements fail (shape {a.shape}, dtype {a.dtype})"]
            lines += [f"  at {tuple(int(i) for i in place)}: {a[tuple(place)]!r} against {right[tuple(place)]!r}" for place in np.argwhere(bad)[:10]]
            self.fail(self._formatMessage(msg, "\n".join(lines)))

    # --- closeness ---------------------------------------------------------------------------------------------------

    def assertAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: Any = None) -> None:
        """Both have the same structure, shapes, and ``|a - b| <= atol + rtol * |b|``. NaN is close to NaN."""
        if isinstance(a, Mapping) != isinstance(b, Mapping):
            self.fail(self._formatMessage(msg, f"Can't compare a dict with something else: {a!r} against {b!r}"))
        if isinstance(a, Mapping):
            self.assertEqual(sorted(a), sorted(b), msg)
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, f"[{key}] {msg or ''}")
        elif _is_ragged(a) or _is_ragged(b):
            self.assertEqual(len(a), len(b), msg)
            for position, (left, right) in enumerate(zip(a, b)):
                self.assertAllClose(left, right, rtol, atol, f"[{position}] {msg or ''}")
        else:
            left, right = _comparable(self._array(a)), _comparable(self._array(b))
            self._check_shapes(left, right, msg)
            good = np.isclose(left, right, rtol, atol, equal_nan=True)
            self._check_where(good, left, right, f"Not equal to tolerance rtol={rtol}, atol={atol}", msg)

    def assertAllCloseAccordingToType(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, float_rtol: float = 1e-6,
                                      float_atol: float = 1e-6, half_rtol: float = 1e-3, half_atol: float = 1e-3, bfloat16_rtol: float = 1e-2,
                                      bfloat16_atol: float = 1e-2, msg: Any = None) -> None:
        """`assertAllClose` with the tolerances of the less precise of the two types."""
        a, b = self._array(a), self._array(b)
        looser = {np.dtype(np.float32): (float_rtol, float_atol), np.dtype(np.complex64): (float_rtol, float_atol),
                  np.dtype(np.float16): (half_rtol, half_atol), np.dtype(ml_dtypes.bfloat16): (bfloat16_rtol, bfloat16_atol)}
        for dtype in {a.dtype, b.dtype}:
            if dtype in looser:
                rtol, atol = max(rtol, looser[dtype][0]), max(atol, looser[dtype][1])
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertNotAllClose(self, a: Any, b: Any, **kwargs: Any) -> None:
        """At least one element differs by more than the tolerance."""
        try:
            self.assertAllClose(a, b, **kwargs)
        except self.failureException:
            return
        self.fail("The two values are close at all elements.")

    def assertNear(self, f1: float, f2: float, err: float, msg: Any = None) -> None:
        """``|f1 - f2| <= err``."""
        self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, self._formatMessage(msg, f"{f1} != {f2} +/- {err}"))

    def assertArrayNear(self, farray1: Any, farray2: Any, err: float, msg: Any = None) -> None:
        """`assertNear` for each pair."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for f1, f2 in zip(farray1, farray2):
            self.assertNear(float(f1), float(f2), err, msg)

    def assertNDArrayNear(self, ndarray1: Any, ndarray2: Any, err: float, msg: Any = None) -> None:
        """The Euclidean distance is at most ``err``."""
        self.assertLessEqual(np.linalg.norm(np.subtract(ndarray1, ndarray2)), err, msg)

    # --- equality and order ------------------------------------------------------------------------------------------

    def assertAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:
        """Both have the same shape and elements. NaN equals NaN."""
        left, right = self._array(a), self._array(b)
        self._check_shapes(left, right, msg)
        same = left == right
        if left.dtype.kind in "fcV" and right.dtype.kind in "fcV":
            same = same | (np.isnan(_comparable(left)) & np.isnan(_comparable(right)))
        self._check_where(same, left, right, "Arrays are not equal", msg)

    def assertNotAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:
        """At least one element differs."""
        try:
            self.assertAllEqual(a, b)
        except self.failureException:
            return
        self.fail(self._formatMessage(msg, "The two values are equal at all elements."))

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        """Each element is above the target."""
        self._check_where(self._array(a) > comparison_target, self._array(a), comparison_target, "Not all greater", None)

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        """Each element is below the target."""
        self._check_where(self._array(a) < comparison_target, self._array(a), comparison_target, "Not all less", None)

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        """No element is below the target."""
        self._check_where(self._array(a) >= comparison_target, self._array(a), comparison_target, "Not all greater or equal", None)

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        """No element is above the target."""
        self._check_where(self._array(a) <= comparison_target, self._array(a), comparison_target, "Not all less or equal", None)

    def assertAllInRange(self, target: Any, lower_bound: Any, upper_bound: Any, open_lower_bound: bool = False,
                         open_upper_bound: bool = False) -> None:
        """Each element lies between the bounds."""
        (self.assertAllGreater if open_lower_bound else self.assertAllGreaterEqual)(target, lower_bound)
        (self.assertAllLess if open_upper_bound else self.assertAllLessEqual)(target, upper_bound)

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:
        """Each element is one of the set."""
        others = set(self._array(target).ravel().tolist()) - set(expected_set)
        self.assertFalse(others, f"not in the set {expected_set}: {others}")

    # --- tensors, devices, protos, errors ----------------------------------------------------------------------------

    def assertShapeEqual(self, np_array: np.ndarray, tf_tensor: Tensor, msg: Any = None) -> None:
        """The static shape of a tensor is the shape of an array."""
        if not isinstance(np_array, (np.ndarray, np.generic)) or not isinstance(tf_tensor, Tensor):
            raise TypeError("assertShapeEqual takes an array and a tensor")
        self.assertEqual(list(np_array.shape), tf_tensor.get_shape().as_list(), msg)

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """The elements have the type."""
        self.assertEqual(as_dtype(self._array(target).dtype), as_dtype(expected_dtype))

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: Any = None) -> None:
        """Both names mean one device: ``/cpu:0`` is ``/device:CPU:0``."""
        self.assertEqual(canonical_name(device1), canonical_name(device2), msg)

    def assertProtoEquals(self, expected_message_maybe_ascii: Any, message: Any, msg: Any = None) -> None:
        """A protocol buffer equals another one, or its text form."""
        expected = expected_message_maybe_ascii
        if isinstance(expected, str):
            expected = text_format.Parse(expected, type(message)())
        self.assertEqual(str(expected), str(message), msg)

    @contextmanager
    def assertRaisesWithPredicateMatch(self, exception_type: Any, expected_err_re_or_predicate: Any) -> Iterator[None]:
        """The body raises ``exception_type``, and a regular expression is found in its message (or a function of it is true)."""
        matches: Callable[[BaseException], Any] = expected_err_re_or_predicate
        if isinstance(expected_err_re_or_predicate, str):
            def matches(error: BaseException) -> Any:
                return re.search(expected_err_re_or_predicate, _message(error))
        try:
            yield
        except exception_type as error:
            if not matches(error):
                raise AssertionError(f"{type(error).__name__} does not match {expected_err_re_or_predicate!r}: {error}") from error
        else:
            self.fail(f"{getattr(exception_type, '__name__', exception_type)} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """The body raises an error of the tree of `tf.errors`."""
        return self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate)


def _message(error: BaseException) -> str:
    """The text of an error, with the name of the operation, as TensorFlow's tests expect to find it there."""
    op: Operation | None = getattr(error, "op", None)
    return str(error) if op is None else f"{error}\nCaused by: {op.name}"


def _is_ragged(value: Any) -> bool:
    if not isinstance(value, (list, tuple)):
        return False
    if any(isinstance(item, Mapping) for item in value):
        return True
    return len({np.shape(item) for item in value if not isinstance(item, Tensor)}) > 1


def _comparable(array: np.ndarray) -> np.ndarray:
    """bfloat16 as float32: NumPy's comparisons do not know the former."""
    return array.astype(np.float32) if array.dtype in (np.dtype(ml_dtypes.bfloat16), np.dtype(np.float16)) else array
