"""The metrics of ``tf.contrib.gan.eval`` by the Inception network: a frozen graph, which is one's own or fetched from a server when it is needed."""
from __future__ import annotations

import functools
import os
import tarfile
import tempfile
import urllib
import urllib.request
from collections.abc import Callable
from typing import Any

from tensorboard.compat.proto.graph_pb2 import GraphDef

from penstock.contrib import prelude as tf
from penstock.contrib.gan.classifier_metrics import (
    INCEPTION_DEFAULT_IMAGE_SIZE,
    classifier_score,
    frechet_classifier_distance,
    run_image_classifier,
    trace_of_root,
)
from penstock.contrib.gan.kernel_metrics import kernel_classifier_distance_and_std
from penstock.platform import gfile, resource_loader

INCEPTION_URL = "http://download.tensorflow.org/models/frozen_inception_v1_2015_12_05.tar.gz"
INCEPTION_FROZEN_GRAPH = "inceptionv1_for_inception_score.pb"
INCEPTION_INPUT, INCEPTION_OUTPUT, INCEPTION_FINAL_POOL = "Mul:0", "logits:0", "pool_3:0"
# What these are called in the graph that TensorFlow 1.4 had.
INCEPTION_V3_INPUT, INCEPTION_V3_OUTPUT = "input:0", "InceptionV3/Logits/SpatialSqueeze:0"
INCEPTION_V3_FINAL_POOL = "InceptionV3/Logits/AvgPool_1a_8x8/AvgPool:0"
_IN_V3 = {INCEPTION_INPUT: INCEPTION_V3_INPUT, INCEPTION_OUTPUT: INCEPTION_V3_OUTPUT, INCEPTION_FINAL_POOL: INCEPTION_V3_FINAL_POOL}


def get_graph_def_from_disk(filename: str) -> GraphDef:
    """``get_graph_def_from_disk``: the GraphDef in a file."""
    with gfile.GFile(filename, "rb") as file:
        return GraphDef.FromString(file.read())


def get_graph_def_from_resource(filename: str) -> GraphDef:
    """``get_graph_def_from_resource``: the GraphDef in a file beside the program."""
    return GraphDef.FromString(resource_loader.load_resource(filename))


def get_graph_def_from_url_tarball(url: str, filename: str, tar_filename: str | None = None) -> GraphDef:
    """``get_graph_def_from_url_tarball``: the GraphDef in the file ``filename`` of an archive, which is fetched unless ``tar_filename`` is there."""
    if not (tar_filename and os.path.exists(tar_filename)):
        if tar_filename is None:
            handle, tar_filename = tempfile.mkstemp(suffix=".tar.gz")
            os.close(handle)
        tar_filename, _ = urllib.request.urlretrieve(url, tar_filename)
    with tarfile.open(tar_filename, "r:gz") as archive:
        member = archive.extractfile(filename)
        if member is None:
            raise ValueError(f"{filename} of {url} is not a file")
        return GraphDef.FromString(member.read())


def _default_graph_def() -> GraphDef:
    return get_graph_def_from_url_tarball(INCEPTION_URL, INCEPTION_FROZEN_GRAPH, os.path.basename(INCEPTION_URL))


def run_inception(images: Any, graph_def: GraphDef | None = None, default_graph_def_fn: Callable[[], GraphDef] | None = _default_graph_def,
                  image_size: int = INCEPTION_DEFAULT_IMAGE_SIZE, input_tensor: str = INCEPTION_INPUT, output_tensor: Any = INCEPTION_OUTPUT) -> Any:
    """``run_inception``: what Inception makes of images, each output as a matrix with a row per image."""
    images = tf.convert_to_tensor(images)
    images.shape.with_rank(4)
    images.shape.assert_is_compatible_with([None, image_size, image_size, None])
    if graph_def is None:
        if default_graph_def_fn is None:
            raise ValueError("If graph_def is `None`, must provide `default_graph_def_fn`.")
        graph_def = default_graph_def_fn()
    wanted = [_name_in(graph_def, name) for name in _as_list(output_tensor)]
    outputs = run_image_classifier(images, graph_def, _name_in(graph_def, input_tensor), wanted if isinstance(output_tensor, list) else wanted[0])
    flat = [tf.reshape(each, [tf.shape(each)[0], -1]) if each.shape.ndims != 2 else each for each in _as_list(outputs)]
    return flat if isinstance(outputs, list) else flat[0]


def _name_in(graph_def: GraphDef, name: str) -> str:
    """The name of a tensor of Inception in the graph at hand."""
    return _IN_V3.get(name, name) if name.partition(":")[0] not in (node.name for node in graph_def.node) else name


def _as_list(outputs: Any) -> list[Any]:
    return outputs if isinstance(outputs, list) else [outputs]


def inception_score(images: Any, num_batches: int = 1) -> tf.Tensor:
    """``inception_score``: how sure Inception is of each image, and how different the images are (Salimans et al. 2016)."""
    return classifier_score(images, functools.partial(run_inception, output_tensor=INCEPTION_OUTPUT), num_batches)


def frechet_inception_distance(real_images: Any, generated_images: Any, num_batches: int = 1) -> tf.Tensor:
    """``frechet_inception_distance``: between Inception's last pool of real and of generated images (Heusel et al. 2017)."""
    return frechet_classifier_distance(real_images, generated_images, functools.partial(run_inception, output_tensor=INCEPTION_FINAL_POOL),
                                       num_batches)


def kernel_inception_distance_and_std(real_images: Any, generated_images: Any, num_classifier_batches: int = 1, max_block_size: int = 1024,
                                      dtype: Any = None) -> tuple[tf.Tensor, tf.Tensor]:
    """``kernel_inception_distance_and_std``: (distance, its standard error)."""
    return kernel_classifier_distance_and_std(real_images, generated_images, functools.partial(run_inception, output_tensor=INCEPTION_FINAL_POOL),
                                              num_classifier_batches, max_block_size, dtype)


def kernel_inception_distance(real_images: Any, generated_images: Any, num_classifier_batches: int = 1, max_block_size: int = 1024,
                              dtype: Any = None) -> tf.Tensor:
    """``kernel_inception_distance``: by a kernel on Inception's last pool of real and of generated images (Bińkowski et al. 2018)."""
    return kernel_inception_distance_and_std(real_images, generated_images, num_classifier_batches, max_block_size, dtype)[0]


def trace_sqrt_product(sigma: Any, sigma_v: Any) -> tf.Tensor:
    """The trace of the root of the product of two covariances."""
    return trace_of_root(tf.convert_to_tensor(sigma), tf.convert_to_tensor(sigma_v))


def kl_divergence(p: Any, p_logits: Any, q: Any) -> tf.Tensor:
    """The divergence of each row of probabilities ``p``, whose logits are ``p_logits``, from ``q``."""
    for name, tensor, rank in (("p", p, 2), ("p_logits", p_logits, 2), ("q", q, 1)):
        if not tensor.dtype.is_floating:
            raise ValueError(f"Input {name} must be floating type, not {tensor.dtype.name}.")
        tensor.shape.assert_has_rank(rank)
    return tf.reduce_sum(p * (tf.log_softmax(p_logits) - tf.log(q)), axis=1)
