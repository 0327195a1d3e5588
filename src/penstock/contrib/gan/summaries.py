"""Images and numbers of the models of ``tf.contrib.gan``, for TensorBoard; images side by side in one."""
from __future__ import annotations

import math
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.gan.models import CycleGANModel
from penstock.layers.losses import get_regularization_loss
from penstock.summary import summary

# --- images ----------------------------------------------------------------------------------------------------------


def image_grid(input_tensor: Any, grid_shape: Any, image_shape: Any = (32, 32), num_channels: int = 3) -> tf.Tensor:
    """``tf.contrib.gan.eval.image_grid``: a batch of images as one image, in rows and columns."""
    rows, columns = grid_shape
    if rows * columns != int(input_tensor.shape[0]):
        raise ValueError(f"Grid shape {grid_shape} incompatible with minibatch size {int(input_tensor.shape[0])}.")
    extents = [int(extent) for extent in input_tensor.shape[1:]]
    if len(extents) not in (1, 3):
        raise ValueError("Unrecognized input tensor format.")
    if extents not in ([math.prod(image_shape) * num_channels], [*image_shape, num_channels]):
        raise ValueError("Image shape and number of channels incompatible with input tensor.")
    height, width = image_shape
    images = tf.transpose(tf.reshape(input_tensor, (rows, columns, height, width, num_channels)), [0, 1, 3, 2, 4])
    strips = tf.transpose(tf.reshape(images, [rows, columns * width, height, num_channels]), [0, 2, 1, 3])
    return tf.reshape(strips, [1, rows * height, columns * width, num_channels])


def image_reshaper(images: Any, num_cols: int | None = None) -> tf.Tensor:
    """``tf.contrib.gan.eval.image_reshaper``: images of one size as one image; empty ones fill the last row."""
    images = tf.unstack(images) if isinstance(images, tf.Tensor) else list(images)
    for image in images:
        image.shape.assert_has_rank(3)
        image.shape.assert_is_fully_defined()
        if image.shape[-1] not in (1, 3):
            raise ValueError("image_reshaper only supports 1 or 3 channel images.")
    columns = num_cols or math.ceil(math.sqrt(len(images)))
    rows = [images[start:start + columns] for start in range(0, len(images), columns)]
    missing = columns - len(rows[-1])
    if missing:
        rows[-1].extend([tf.zeros_like(images[-1])] * missing)
    return tf.expand_dims(tf.concat([tf.concat(row, 1) for row in rows], 0), 0)


# --- summaries -------------------------------------------------------------------------------------------------------


def _check_images(*tensors: Any) -> None:
    for tensor in tensors:
        tensor.shape.assert_has_rank(4)
        tensor.shape[1:].assert_is_fully_defined()


def add_gan_model_image_summaries(gan_model: Any, grid_size: int = 4, model_summaries: bool = True) -> None:
    """``tf.contrib.gan.eval.add_gan_model_image_summaries``: grids of real and of generated images."""
    if isinstance(gan_model, CycleGANModel):
        raise ValueError("`add_gan_model_image_summaries` does not take CycleGANModels. Please use `add_cyclegan_image_summaries` instead.")
    _check_images(gan_model.real_data, gan_model.generated_data)
    for name in ("real_data", "generated_data"):
        data = getattr(gan_model, name)
        *image_shape, channels = data.shape.as_list()[1:]
        summary.image(name, image_grid(data[:grid_size ** 2], (grid_size, grid_size), image_shape, channels), max_outputs=1)
    if model_summaries:
        add_gan_model_summaries(gan_model)


def _first(count: int, *tensors: Any) -> list[Any]:
    return [image for tensor in tensors for image in tf.unstack(tensor[:count])]


def add_cyclegan_image_summaries(cyclegan_model: Any) -> None:
    """``tf.contrib.gan.eval.add_cyclegan_image_summaries``: an image, what becomes of it, and what it is when it comes back."""
    if not isinstance(cyclegan_model, CycleGANModel):
        raise ValueError(f"`cyclegan_model` was not a CycleGANModel. Instead, was {type(cyclegan_model)}")
    directions = {"x2y": (cyclegan_model.model_x2y, cyclegan_model.reconstructed_x),
                  "y2x": (cyclegan_model.model_y2x, cyclegan_model.reconstructed_y)}
    for model, reconstructed in directions.values():
        _check_images(model.generator_inputs, model.generated_data, reconstructed)
    for name, (model, reconstructed) in directions.items():
        with tf.name_scope(f"{name}_image_comparison_summaries"):
            images = _first(1, model.generator_inputs, model.generated_data, reconstructed)
            summary.image("image_comparison", image_reshaper(images, num_cols=len(images)), max_outputs=1)


def add_image_comparison_summaries(gan_model: Any, num_comparisons: int = 2, display_diffs: bool = False) -> None:
    """``tf.contrib.gan.eval.add_image_comparison_summaries``: inputs, generated and real images below each other."""
    inputs, generated, real = gan_model.generator_inputs, gan_model.generated_data, gan_model.real_data
    _check_images(inputs, generated, real)
    generated.shape.assert_is_compatible_with(inputs.shape)
    real.shape.assert_is_compatible_with(generated.shape)
    images = _first(num_comparisons, inputs, generated, real)
    if display_diffs:
        pairs = zip(_first(num_comparisons, generated), _first(num_comparisons, real))
        images += [tf.abs(tf.cast(one, tf.float32) - tf.cast(other, tf.float32)) for one, other in pairs]
    summary.image("image_comparison", image_reshaper(images, num_cols=num_comparisons), max_outputs=1)


def add_stargan_image_summaries(stargan_model: Any, num_images: int = 2, display_diffs: bool = False) -> None:
    """``tf.contrib.gan.eval.add_stargan_image_summaries``: images, and what becomes of them in each domain."""
    _check_images(stargan_model.input_data)
    stargan_model.input_data_domain_label.shape.assert_has_rank(2)
    stargan_model.input_data_domain_label.shape[1:].assert_is_fully_defined()
    domains = stargan_model.input_data_domain_label.get_shape().as_list()[-1]

    def row(image: Any) -> tf.Tensor:
        copies = tf.tile(tf.expand_dims(image, axis=0), [domains, 1, 1, 1])
        with tf.variable_scope(stargan_model.generator_scope, reuse=True):
            generated = stargan_model.generator_fn(copies, tf.one_hot(list(range(domains)), domains))
            images = [image, *tf.unstack(generated)]
            if display_diffs:
                images += [tf.zeros_like(image), *tf.unstack(generated - copies)]
            return tf.squeeze(image_reshaper(images, num_cols=domains + 1), axis=0)

    rows = tf.map_fn(row, stargan_model.input_data[:num_images], parallel_iterations=num_images, back_prop=False, swap_memory=True)
    summary.image("stargan_image_generation", rows, max_outputs=num_images)


def add_gan_model_summaries(gan_model: Any) -> None:
    """``tf.contrib.gan.eval.add_gan_model_summaries``: histograms of all variables."""
    if isinstance(gan_model, CycleGANModel):
        for name in ("x2y", "y2x"):
            with tf.name_scope(f"cyclegan_{name}_summaries"):
                add_gan_model_summaries(getattr(gan_model, f"model_{name}"))
        return
    for name in ("generator_variables", "discriminator_variables"):
        with tf.name_scope(name):
            for variable in getattr(gan_model, name):
                summary.histogram(variable.name, variable)


def add_regularization_loss_summaries(gan_model: Any) -> None:
    """``tf.contrib.gan.eval.add_regularization_loss_summaries``: the regularization of each network."""
    if isinstance(gan_model, CycleGANModel):
        for name in ("x2y", "y2x"):
            with tf.name_scope(f"cyclegan_{name}_regularization_loss_summaries"):
                add_regularization_loss_summaries(getattr(gan_model, f"model_{name}"))
        return
    for name in ("generator", "discriminator"):
        scope = getattr(gan_model, f"{name}_scope")
        if scope:
            summary.scalar(f"{name}_regularization_loss", get_regularization_loss(scope.name))
