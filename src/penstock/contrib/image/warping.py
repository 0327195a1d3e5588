"""Warps of images: by a flow for each pixel, or by control points between which a spline interpolates the flow."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.contrib import prelude as tf

_EPSILON = 1e-10


# --- a flow for each pixel -------------------------------------------------------------------------------------------


def dense_image_warp(image: Any, flow: Any, name: str = "dense_image_warp") -> tf.Tensor:
    """``tf.contrib.image.dense_image_warp``: at each pixel the image at this place minus the flow, [dy, dx], interpolated."""
    with tf.name_scope(name):
        image, flow = tf.convert_to_tensor(image), tf.convert_to_tensor(flow)
        batch, height, width, channels = (tf.shape(image)[axis] for axis in (0, 1, 2, 3))
        x, y = tf.meshgrid(tf.range(width), tf.range(height))
        places = tf.expand_dims(tf.cast(tf.stack([y, x], axis=2), flow.dtype), axis=0) - flow
        values = _bilinear(image, tf.reshape(places, [batch, height * width, 2]))
        return tf.reshape(values, [batch, height, width, channels])


def _bilinear(grid: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
    """The grid at places [batch, count, (y, x)]; those outside are moved to the border."""
    if grid.shape.ndims != 4:
        raise ValueError(f"Grid must be 4 dimensional. Received size: {grid.shape}")
    batch, height, width, channels = (tf.shape(grid)[axis] for axis in (0, 1, 2, 3))
    large = [tf.assert_greater_equal(height, 2, message="Grid height must be at least 2."),
             tf.assert_greater_equal(width, 2, message="Grid width must be at least 2.")]
    with tf.control_dependencies(large):
        queries = tf.unstack(places, num=2, axis=2)
    floors, shares = [], []
    for query, extent in zip(queries, (height, width)):
        floor = tf.minimum(tf.maximum(tf.constant(0.0, query.dtype), tf.floor(query)), tf.cast(extent - 2, query.dtype))
        share = tf.cast(query - floor, grid.dtype)
        shares.append(tf.expand_dims(tf.minimum(tf.maximum(tf.constant(0.0, grid.dtype), share), tf.constant(1.0, grid.dtype)), 2))
        floors.append(tf.cast(floor, tf.int32))
    flat = tf.reshape(grid, [batch * height * width, channels])
    offsets = tf.reshape(tf.range(batch) * height * width, [batch, 1])

    def read(down: int, right: int) -> tf.Tensor:
        return tf.gather(flat, offsets + (floors[0] + down) * width + floors[1] + right)

    top = shares[1] * (read(0, 1) - read(0, 0)) + read(0, 0)
    bottom = shares[1] * (read(1, 1) - read(1, 0)) + read(1, 0)
    return shares[0] * (bottom - top) + top


# --- splines ---------------------------------------------------------------------------------------------------------


def interpolate_spline(train_points: Any, train_values: Any, query_points: Any, order: int, regularization_weight: float = 0.0,
                       name: str = "interpolate_spline") -> tf.Tensor:
    """``tf.contrib.image.interpolate_spline``: a polyharmonic spline through values at points, [batch, count, dimensions], at other points."""
    with tf.name_scope(name):
        points, values = tf.convert_to_tensor(train_points), tf.convert_to_tensor(train_values)
        queries = tf.convert_to_tensor(query_points)
        weights, linear = _fit(points, values, order, regularization_weight)
        near = tf.matmul(_phi(_squared_distances(queries, points), order), weights)
        return near + tf.matmul(tf.concat([queries, tf.ones_like(queries[..., :1])], 2), linear)


def _fit(points: tf.Tensor, values: tf.Tensor, order: int, regularization_weight: float) -> tuple[tf.Tensor, tf.Tensor]:
    """The weights of the points, and the linear part."""
    batch, count = tf.shape(points)[0], tf.shape(points)[1]
    dimensions, outputs = tf.dimension_value(points.shape[-1]), tf.dimension_value(values.shape[-1])
    if dimensions is None:
        raise ValueError("The dimensionality of the input points (d) must be statically-inferrable.")
    if outputs is None:
        raise ValueError("The dimensionality of the output values (k) must be statically-inferrable.")
    bases = _phi(_own_squared_distances(points), order)
    if regularization_weight > 0:
        bases += regularization_weight * tf.expand_dims(tf.eye(count, dtype=points.dtype), 0)
    affine = tf.concat([points, tf.ones_like(points[..., :1])], 2)
    left = tf.concat([bases, tf.transpose(affine, [0, 2, 1])], 1)
    right = tf.concat([affine, tf.zeros([batch, dimensions + 1, dimensions + 1], points.dtype)], 1)
    wanted = tf.concat([values, tf.zeros([batch, dimensions + 1, outputs], points.dtype)], 1)
    solution = tf.matrix_solve(tf.concat([left, right], 2), wanted)
    return solution[:, :count, :], solution[:, count:, :]


def _squared_distances(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    x_squares, y_squares = tf.reduce_sum(tf.square(x), 2), tf.reduce_sum(tf.square(y), 2)
    return tf.expand_dims(x_squares, 2) - 2 * tf.matmul(x, y, adjoint_b=True) + tf.expand_dims(y_squares, 1)


def _own_squared_distances(x: tf.Tensor) -> tf.Tensor:
    """Those between all points of one set: exactly 0 on the diagonal."""
    products = tf.matmul(x, x, adjoint_b=True)
    squares = tf.expand_dims(tf.matrix_diag_part(products), 2)
    return squares - 2 * products + tf.transpose(squares, [0, 2, 1])


def _phi(squared: tf.Tensor, order: int) -> tf.Tensor:
    """The radial basis of squared distances r²: r^order, times log(r) for even orders."""
    positive = tf.maximum(squared, _EPSILON)
    if order == 1:
        return tf.sqrt(positive)
    if order == 2:
        return 0.5 * squared * tf.log(positive)
    if order == 4:
        return 0.5 * tf.square(squared) * tf.log(positive)
    power = tf.pow(positive, 0.5 * order)
    return 0.5 * power * tf.log(positive) if order % 2 == 0 else power


# --- control points --------------------------------------------------------------------------------------------------


def sparse_image_warp(image: Any, source_control_point_locations: Any, dest_control_point_locations: Any, interpolation_order: int = 2,
                      regularization_weight: float = 0.0, num_boundary_points: int = 0,
                      name: str = "sparse_image_warp") -> tuple[tf.Tensor, tf.Tensor]:
    """``tf.contrib.image.sparse_image_warp``: (the image with its control points moved, the flow); points on the border may be held."""
    image = tf.convert_to_tensor(image)
    source, target = tf.convert_to_tensor(source_control_point_locations), tf.convert_to_tensor(dest_control_point_locations)
    flows = target - source
    with tf.name_scope(name):
        batch, height, width, _ = image.shape.as_list()
        grid = np.stack(np.meshgrid(np.arange(float(height)), np.arange(float(width)), indexing="ij"), -1).reshape(-1, 2)
        if num_boundary_points > 0:
            border = _border(height, width, num_boundary_points - 1)
            target = tf.concat([target, _repeat(border, batch, target.dtype)], 1)
            flows = tf.concat([flows, _repeat(np.zeros_like(border), batch, flows.dtype)], 1)
        flat = interpolate_spline(target, flows, _repeat(grid, batch, image.dtype), interpolation_order, regularization_weight)
        flow = tf.reshape(flat, [batch, height, width, 2])
        return dense_image_warp(image, flow), flow


def _border(height: int, width: int, inner: int) -> np.ndarray:
    """The corners, and ``inner`` points between them on each edge."""
    ys, xs = np.meshgrid(np.linspace(0, height - 1, inner + 2), np.linspace(0, width - 1, inner + 2), indexing="ij")
    outside = (xs == 0) | (xs == width - 1) | (ys == 0) | (ys == height - 1)
    return np.stack([ys[outside], xs[outside]], axis=-1)


def _repeat(points: np.ndarray, batch: int, dtype: Any) -> tf.Tensor:
    return tf.constant(np.tile(points[None], (batch, 1, 1)), dtype)
