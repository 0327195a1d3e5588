"""The operations, one file per family. Importing this package registers all of them.

what all share: common, public, demands, precision, handles.
constants, users' own ops: constant, custom, py_func.
elementwise math: elementwise, division, powers, trigonometry, special, rounding, bitwise, compare, cast, broadcast_gradient, operators,
    math, clip.
reductions and scans: reduce, statistics, argmax, cumulative, sequences, segment, segment_sparse, counting.
arrays: array, shape_ops, fill, pack, pad, permute, passing, slicing, gather, scatter_nd, select, unique, sorting, partition, patches,
    space, quantize, masking.
linear algebra: matmul, einsum, linalg, diag, diag_bands, decompositions, least_squares, matrix_functions, matrix_shape.
sparse tensors, sets, embeddings: sparse, sparse_math, sparse_reduce, sparse_functions, sparse_kernels, sparse_serialize, sparse_cross,
    indexed_slices, sets, embedding.
neural networks: activations, bias, softmax, cross_entropy, nn_ops, dropout, conv, conv_shape, convolution, depthwise, im2col, layout,
    windows, space_to_batch_conv, morphology, pooling, pooling_core, pooling_argmax, pooling_functions, fractional_pooling, normalization,
    fused_batch_norm, lrn, candidate, sampled_loss, ctc, ctc_beam, gather_tree.
random numbers: philox, distributions, truncated, random, random_gamma, random_stateless, random_extra.
images: image, image_boxes, image_codec, image_color, image_quality, image_resize, crop_and_resize, distorted_box, pictures, resize_weights.
strings, parsing, files: strings, string_functions, hashing, decoding, parsing, parse_example, files.
variables and training: state, resource, scattering, slice_assign, training, save_restore.
control flow: misc, checks, check_shapes, printing, summarize, control_flow, functional, functional_loops, primitives, tensor_list,
    tensor_array, tensor_array_class, tensor_array_state, transfer.
queues, tables, readers: queue, queue_classes, barrier, accumulators, accumulator_classes, critical_section, mutex, stack, staging,
    staging_classes, tables, readers, reader_classes.
datasets: dataset_core, dataset_sources, dataset_files, dataset_functions, dataset_order, dataset_batch, dataset_parallel, dataset_shuffle,
    dataset_cache, dataset_ahead, dataset_group, iterator, optional.
summaries: summaries.
"""
from __future__ import annotations

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
