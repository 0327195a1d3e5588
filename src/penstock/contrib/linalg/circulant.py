"""Operators that are convolutions: circulant matrices, also of blocks, which Fourier transforms make diagonal, and Toeplitz matrices."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.linalg.linear_operator import LinearOperator
from penstock.contrib.linalg.linear_operator import adjoint as adjoint_of
from penstock.contrib.linalg.matrices import assert_no_zeros
from penstock.ops.signal.transforms import fft, fft2d, fft3d, ifft, ifft2d, ifft3d

_TRANSFORMS = {1: (fft, ifft), 2: (fft2d, ifft2d), 3: (fft3d, ifft3d)}
_COMPLEX64, _COMPLEX128 = tf.as_dtype("complex64"), tf.as_dtype("complex128")


def _to_complex(x: tf.Tensor) -> tf.Tensor:
    return x if x.dtype.is_complex else tf.cast(x, _COMPLEX128 if x.dtype == tf.float64 else _COMPLEX64)


class _Circulant(LinearOperator):
    """An operator that a Fourier transform over the last ``block_depth`` axes of its spectrum makes diagonal."""

    _depth: int

    def __init__(self, spectrum: Any, input_output_dtype: Any = _COMPLEX64, is_non_singular: bool | None = None,
                 is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None, is_square: bool | None = True,
                 name: str | None = None) -> None:
        with tf.name_scope(name or type(self).__name__, values=[spectrum]):
            self._spectrum = tf.convert_to_tensor(spectrum, name="spectrum")
            if self._spectrum.shape.ndims is not None and self._spectrum.shape.ndims < self._depth:
                raise ValueError(f"Argument spectrum must have at least {self._depth} dimensions.  Found: {self._spectrum}")
            if not self._spectrum.dtype.is_complex:
                if is_self_adjoint is False:
                    raise ValueError("A real spectrum always corresponds to a self-adjoint operator.")
                is_self_adjoint = True
            if is_square is False:
                raise ValueError("A [[nested] block] circulant operator is always square.")
            super().__init__(dtype=tf.as_dtype(input_output_dtype), graph_parents=[self._spectrum], is_non_singular=is_non_singular,
                             is_self_adjoint=is_self_adjoint, is_positive_definite=is_positive_definite, is_square=True, name=name)

    @property
    def block_depth(self) -> int:
        """How deep blocks are nested: 1, 2 or 3."""
        return self._depth

    @property
    def block_shape(self) -> tf.TensorShape:
        """The last axes of the spectrum."""
        return self._spectrum.shape[-self._depth:]

    def block_shape_tensor(self) -> tf.Tensor:
        """The last axes of the spectrum, as a vector."""
        return tf.shape(self._spectrum)[-self._depth:]

    @property
    def spectrum(self) -> tf.Tensor:
        """The eigenvalues."""
        return self._spectrum

    def convolution_kernel(self, name: str = "convolution_kernel") -> tf.Tensor:
        """What the operator convolves with."""
        with self._name_scope(name):
            return tf.cast(_TRANSFORMS[self._depth][1](_to_complex(self._spectrum)), self.dtype)

    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> Any:
        """An assertion that the spectrum belongs to a real kernel."""
        with self._name_scope(name):
            bound = np.finfo(self.dtype.real_dtype.as_numpy_dtype).eps * tf.cast(self.domain_dimension_tensor(), self.dtype.real_dtype)
            return tf.assert_less(tf.abs(tf.imag(self.convolution_kernel())), bound, message="Spectrum was not Hermitian")

    def _shape(self) -> tf.TensorShape:
        extent = self.block_shape.num_elements()
        return self._spectrum.shape[:-self._depth].concatenate([extent, extent])

    def _shape_tensor(self) -> tf.Tensor:
        extent = tf.reduce_prod(self.block_shape_tensor())
        return tf.concat([tf.shape(self._spectrum)[:-self._depth], tf.stack([extent, extent])], 0)

    def _by_spectrum(self, x: tf.Tensor, adjoint_arg: bool, scale: Any) -> tf.Tensor:
        """The matrix whose columns are those of ``x`` with ``scale`` of their transforms."""
        spectrum, (forward, back) = _to_complex(self._spectrum), _TRANSFORMS[self._depth]
        x = tf.cast(adjoint_of(x) if adjoint_arg else x, spectrum.dtype)
        rows = tf.matrix_transpose(x)  # [..., columns, extent]: a column's elements stand side by side
        blocks = tf.reshape(rows, tf.concat([tf.shape(rows)[:-1], self.block_shape_tensor()], 0))
        result = back(scale(forward(blocks), tf.expand_dims(spectrum, -1 - self._depth)))
        leading = tf.shape(result)[:-self._depth]
        result = tf.matrix_transpose(tf.reshape(result, tf.concat([leading, [tf.reduce_prod(self.block_shape_tensor())]], 0)))
        if x.shape.ndims is not None and self.shape.ndims is not None:
            result.set_shape(tf.broadcast_static_shape(x.shape[:-2], self.batch_shape).concatenate([self.shape[-1], x.shape[-1]]))
        return tf.cast(result, self.dtype)

    def _matmul(self, x: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        return self._by_spectrum(x, adjoint_arg, lambda values, spectrum: (tf.conj(spectrum) if adjoint else spectrum) * values)

    def _solve(self, rhs: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        return self._by_spectrum(rhs, adjoint_arg, lambda values, spectrum: values / (tf.conj(spectrum) if adjoint else spectrum))

    @property
    def _axes(self) -> list[int]:
        return [*range(-self._depth, 0)]

    def _determinant(self) -> tf.Tensor:
        return tf.cast(tf.reduce_prod(self._spectrum, axis=self._axes), self.dtype)

    def _log_abs_determinant(self) -> tf.Tensor:
        return tf.cast(tf.reduce_sum(tf.log(tf.abs(self._spectrum)), axis=self._axes), self.dtype)

    def _trace(self) -> tf.Tensor:
        spectrum = self._spectrum
        if spectrum.dtype.is_complex and (self.is_self_adjoint or not self.dtype.is_complex):
            spectrum = tf.real(spectrum)
        return tf.cast(tf.reduce_sum(spectrum, axis=self._axes), self.dtype)

    def _diag_part(self) -> tf.Tensor:
        mean = self.trace() / tf.cast(self.domain_dimension_tensor(), self.dtype)
        return tf.expand_dims(mean, -1) * tf.ones(self.shape_tensor()[:-1], dtype=self.dtype)

    def _assert_non_singular(self) -> Any:
        return assert_no_zeros(self._spectrum, message="Singular operator:  Spectrum contained zero values.")

    def _assert_positive_definite(self) -> Any:
        return tf.assert_positive(tf.real(self._spectrum), message="Not positive definite:  Real part of spectrum was not all positive.")

    def _assert_self_adjoint(self) -> Any:
        return tf.assert_equal(tf.imag(_to_complex(self._spectrum)), tf.zeros([], self._spectrum.dtype.real_dtype),
                               message="Not self-adjoint:  The spectrum contained non-zero imaginary part.")


class LinearOperatorCirculant(_Circulant):
    """``tf.linalg.LinearOperatorCirculant``: each column is the one before it, moved down by one, and around."""

    _depth = 1


class LinearOperatorCirculant2D(_Circulant):
    """``tf.linalg.LinearOperatorCirculant2D``: circulant blocks in a circulant order."""

    _depth = 2


class LinearOperatorCirculant3D(_Circulant):
    """``tf.linalg.LinearOperatorCirculant3D``: circulant blocks of circulant blocks in a circulant order."""

    _depth = 3


class LinearOperatorToeplitz(LinearOperator):
    """``tf.linalg.LinearOperatorToeplitz``: a matrix with equal elements along each diagonal, told by its first column and row."""

    def __init__(self, col: Any, row: Any, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool | None = None, name: str = "LinearOperatorToeplitz") -> None:
        with tf.name_scope(name, values=[row, col]):
            self._row, self._col = tf.convert_to_tensor(row, name="row"), tf.convert_to_tensor(col, name="col")
            for argument, tensor in (("row", self._row), ("col", self._col)):
                if tensor.shape.ndims == 0:
                    raise ValueError(f"Argument {argument} must have at least 1 dimension.  Found: {tensor}")
            if not self._row.shape[-1:].is_compatible_with(self._col.shape[-1:]):
                raise ValueError(f"Expected square matrix, got row and col with mismatched dimensions: {self._row.shape}, {self._col.shape}.")
            if is_square is False:
                raise ValueError("Only square Toeplitz operators currently supported.")
            super().__init__(dtype=self._row.dtype, graph_parents=[self._row, self._col], is_non_singular=is_non_singular,
                             is_self_adjoint=is_self_adjoint, is_positive_definite=is_positive_definite, is_square=True, name=name)
            # The upper left quarter of a circulant matrix of twice the extent.
            around = tf.concat([self._col, tf.zeros_like(self._col[..., :1]), tf.reverse(self._row[..., 1:], [-1])], -1)
            self._circulant = LinearOperatorCirculant(fft(_to_complex(around)), input_output_dtype=self._row.dtype)

    @property
    def row(self) -> tf.Tensor:
        """The first row."""
        return self._row

    @property
    def col(self) -> tf.Tensor:
        """The first column."""
        return self._col

    def _shape(self) -> tf.TensorShape:
        shape = tf.broadcast_static_shape(self._row.shape, self._col.shape)
        return shape.concatenate(shape[-1:])

    def _shape_tensor(self) -> tf.Tensor:
        shape = tf.broadcast_dynamic_shape(tf.shape(self._row), tf.shape(self._col))
        return tf.concat([shape, shape[-1:]], 0)

    def _matmul(self, x: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        x = adjoint_of(x) if adjoint_arg else x
        result = self._circulant.matmul(tf.concat([x, tf.zeros_like(x)], -2), adjoint=adjoint)
        return tf.cast(result[..., :self.domain_dimension_tensor(), :], self.dtype)

    def _solve(self, rhs: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        return tf.matrix_solve(self.to_dense(), adjoint_of(rhs) if adjoint_arg else rhs, adjoint=adjoint)

    def _trace(self) -> tf.Tensor:
        return tf.cast(self.domain_dimension_tensor(), self.dtype) * self._col[..., 0]

    def _diag_part(self) -> tf.Tensor:
        return self._col[..., :1] * tf.ones([self.domain_dimension_tensor()], self.dtype)

    def _assert_self_adjoint(self) -> Any:
        return tf.assert_equal(self._row, self._col, message="row and col are not the same, and so this operator is not self-adjoint.")
