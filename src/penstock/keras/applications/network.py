"""From the description of a network to a model: its input, its top, its weights."""
from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.keras.applications.blocks import classify, pooled
from penstock.keras.engine.input_layer import Input, is_keras_tensor
from penstock.keras.engine.model import Model
from penstock.keras.tools.picture import get_source_inputs
from penstock.keras.utils.files import get_file
from penstock.layers import settings
from penstock.platform import logging

RELEASES = "https://github.com/fchollet/deep-learning-models/releases/download"


class Architecture(NamedTuple):
    """A network: ``body`` makes features of images, ``top`` makes the probabilities of classes of them."""

    name: str
    body: Callable[[Any], Any]
    weights: str  # the address of the weights; without a top: see `without_top`
    top: Callable[[Any, int], Any] = classify
    size: int = 224  # the extent of images
    smallest: int = 32
    pooling_names: tuple[str | None, str | None] = (None, None)
    without_top: str = "_notop"  # what the address of the weights without a top has behind its name
    static: bool = False  # whether height and width must be known even without a top


class ApplicationOptions(NamedTuple):
    """What the functions of all networks are asked for."""

    include_top: bool
    weights: str | None
    input_tensor: Any
    input_shape: Any
    pooling: str | None
    classes: int


def check(options: ApplicationOptions) -> None:
    """ValueError where options contradict each other."""
    weights = options.weights
    if not (weights in ("imagenet", None) or os.path.exists(weights)):
        raise ValueError("The `weights` argument should be either `None` (random initialization), `imagenet` (pre-training on ImageNet), or the path "
                         "to the weights file to be loaded.")
    if weights == "imagenet" and options.include_top and options.classes != 1000:
        raise ValueError('If using `weights` as `"imagenet"` with `include_top` as true, `classes` should be 1000')


def build(network: Architecture, options: ApplicationOptions) -> Model:
    """The model."""
    check(options)
    shape = image_shape(network, options)
    path = weights_path(network, options)  # before the model is built: what is missing is said at once
    images = options.input_tensor
    if images is None:
        images = Input(shape=shape)
    elif not is_keras_tensor(images):
        images = Input(tensor=images, shape=shape)
    x = network.body(images)
    x = network.top(x, options.classes) if options.include_top else pooled(x, options.pooling, network.pooling_names)
    model = Model(images if options.input_tensor is None else get_source_inputs(images), x, name=network.name)
    if path is not None:
        model.load_weights(path)
    return model


def weights_path(network: Architecture, options: ApplicationOptions) -> str | None:
    """The file to load: the user's, or that of ImageNet, which must be in the cache."""
    if options.weights != "imagenet":
        return options.weights
    name, ending = os.path.splitext(network.weights)
    origin = network.weights if options.include_top else f"{name}{network.without_top}{ending}"
    return get_file(os.path.basename(origin).lower().replace("-", "_"), origin, cache_subdir="models")  # as Keras calls it in its cache


def image_shape(network: Architecture, options: ApplicationOptions) -> tuple[int | None, ...]:
    """The shape of an image: the one that was asked for, if the network can have it."""
    shape, first = options.input_shape, settings.image_data_format() == "channels_first"
    imagenet, fixed = options.weights == "imagenet", options.include_top or network.static

    def ordered(extent: int | None, depth: int) -> tuple[int | None, ...]:
        return (depth, extent, extent) if first else (extent, extent, depth)

    if not shape:
        return ordered(network.size if fixed else None, 3)
    if len(shape) != 3:
        raise ValueError("`input_shape` must be a tuple of three integers.")
    shape = tuple(shape)
    depth, *image = shape if first else (shape[2], *shape[:2])
    if imagenet and fixed and shape != ordered(network.size, 3):
        raise ValueError(f"When setting `include_top=True` and loading `imagenet` weights, `input_shape` should be {ordered(network.size, 3)}.")
    if imagenet and depth != 3:
        raise ValueError(f"The input must have 3 channels; got `input_shape={shape}`")
    if depth not in (1, 3):
        logging.warning("This model usually expects 1 or 3 input channels. However, it was passed an input_shape with %s input channels.", depth)
    if any(extent is not None and extent < network.smallest for extent in image):
        raise ValueError(f"Input size must be at least {network.smallest}x{network.smallest}; got `input_shape={shape}`")
    if fixed and None in shape:
        raise ValueError(f"If `include_top` is True, you should specify a static `input_shape`. Got `input_shape={shape}`")
    return shape


def application(public: str, network: Architecture) -> Callable[..., Model]:
    """The public function of a network."""
    def make(include_top: bool = True, weights: str | None = "imagenet", input_tensor: Any = None, input_shape: Any = None,
             pooling: str | None = None, classes: int = 1000) -> Model:
        return build(network, ApplicationOptions(include_top, weights, input_tensor, input_shape, pooling, classes))

    make.__name__ = make.__qualname__ = public
    make.__doc__ = f"""``tf.keras.applications.{public}``, for images of {network.size} x {network.size} pixels (at least {network.smallest}).

    ``weights`` is None, a path, or "imagenet": then the file must be in the cache (see ``tf.keras.utils.get_file``), since nothing is downloaded.
    Without ``include_top`` the features are returned, or what ``pooling`` ("avg" or "max") makes of them.
    """
    return make
