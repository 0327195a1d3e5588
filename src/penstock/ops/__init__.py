"""The operations, one file per family. Importing this package registers all of them."""
from penstock.ops import constant  # noqa: F401
from penstock.ops import array, partition, patches, quantize, shape_ops, slicing, sorting, space, unique  # noqa: F401
from penstock.ops import decoding, files, parse_example, parsing  # noqa: F401
from penstock.ops import crop_and_resize, image, image_boxes, image_codec, image_color, image_resize  # noqa: F401
from penstock.ops import string_functions, strings  # noqa: F401
from penstock.ops import check_shapes, checks, custom, misc, printing, py_func, queue, queue_classes  # noqa: F401
from penstock.ops import random, random_extra, random_gamma, random_stateless  # noqa: F401
from penstock.ops import (  # noqa: F401
    argmax,
    bitwise,
    clip,
    counting,
    cumulative,
    division,
    elementwise,
    math,
    operators,
    powers,
    reduce,
    rounding,
    segment,
    segment_sparse,
    sequences,
    special,
    statistics,
    trigonometry,
)
from penstock.ops import (  # noqa: F401
    activations,
    bias,
    conv,
    convolution,
    cross_entropy,
    depthwise,
    dropout,
    fractional_pooling,
    fused_batch_norm,
    lrn,
    morphology,
    nn_ops,
    normalization,
    pooling,
    pooling_argmax,
    pooling_functions,
    softmax,
    space_to_batch_conv,
)
from penstock.ops import (  # noqa: F401
    candidate,
    ctc,
    decompositions,
    diag,
    diag_bands,
    einsum,
    embedding,
    indexed_slices,
    least_squares,
    linalg,
    matmul,
    matrix_functions,
    sampled_loss,
    sets,
    sparse,
    sparse_cross,
    sparse_functions,
    sparse_math,
    sparse_reduce,
    sparse_serialize,
)
from penstock.ops import control_flow, functional, primitives, summaries, training, transfer  # noqa: F401
from penstock.ops import functional_loops, tensor_array, tensor_array_class, tensor_list  # noqa: F401
from penstock.ops import state  # noqa: F401
from penstock.ops import resource  # noqa: F401
from penstock.ops import slice_assign  # noqa: F401
