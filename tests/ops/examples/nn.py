"""Examples of activations, softmax, cross entropies, bias, normalization and the small ops of neural networks."""
import numpy as np

from support.examples import distinct, example, ints, normal, positive

for name in ("Relu", "Relu6", "Elu", "Selu", "Softplus", "Softsign", "LeakyRelu"):
    example(name, normal(3, 4))
example("LeakyRelu", normal(5), alpha=0.5)

for name in ("ReluGrad", "Relu6Grad", "LeakyReluGrad", "SoftplusGrad", "SoftsignGrad"):
    example(name, normal(3, 4), normal(3, 4))
for name in ("EluGrad", "SeluGrad"):  # their second input is an activation, which is never below -1 (-1.76)
    example(name, normal(3, 4), np.maximum(normal(3, 4), -0.9))

example("Softmax", normal(3, 4))
example("Softmax", normal(2, 3, 4))
example("LogSoftmax", normal(3, 4))
_labels = positive(3, 4)
_labels /= _labels.sum(axis=1, keepdims=True)  # the gradient is that of labels which sum to 1
example("SoftmaxCrossEntropyWithLogits", normal(3, 4), _labels)
example("SoftmaxCrossEntropyWithLogits", normal(3, 4), _labels[:1],
        grad=False)  # as in TensorFlow, for equal shapes only
example("SparseSoftmaxCrossEntropyWithLogits", normal(3, 4), ints(2, 0, 3))

example("BiasAdd", normal(2, 3), normal(3))
example("BiasAdd", normal(2, 3, 4, 2), normal(3), data_format="NCHW")
example("BiasAddV1", normal(2, 3), normal(3))
example("BiasAddGrad", normal(2, 3, 4))
example("BiasAddGrad", normal(2, 3, 4, 2), data_format="NCHW")

for _scaled in (True, False):
    example("BatchNormWithGlobalNormalization", normal(2, 3, 2, 4), normal(4), positive(4), normal(4), normal(4), variance_epsilon=0.01,
            scale_after_normalization=_scaled, types=("float16", "bfloat16", "float32", "float64"))
example("L2Loss", normal(3, 4))
example("InTopK", distinct(3, 4).astype(np.float32), ints(0, 1, 3), k=2)
example("InTopKV2", distinct(3, 4).astype(np.float32), ints(0, 1, 3), 2)

example("LRN", normal(2, 2, 2, 7).astype(np.float32), depth_radius=2, bias=2.0, alpha=0.5, beta=0.75)
example("LRNGrad", *(normal(2, 2, 2, 7).astype(np.float32) for _ in range(3)), depth_radius=2, bias=2.0, alpha=0.5,
        beta=0.75)


def _batch(seed, *shape):
    return np.random.RandomState(seed).standard_normal(shape).astype(np.float32)


_vectors = [np.array(v, np.float32) for v in ([1, 2, 0.5], [0.1, -0.2, 0.3], [0.2, 0.1, -0.1], [1.5, 0.7, 1.1])]
_scale, _offset, _mean, _variance = _vectors
_none = np.zeros(0, np.float32)

for name in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"):
    example(name, _batch(1, 2, 3, 2, 3), _scale, _offset, _none, _none, epsilon=0.01, grad_inputs=(0, 1, 2))
    example(name, _batch(2, 2, 3, 2, 3), _scale, _offset, _mean, _variance, epsilon=0.01, is_training=False,
            grad_inputs=(0, 1, 2))
    example(name, _batch(3, 2, 3, 2, 2), _scale, _offset, _none, _none, epsilon=0.01, data_format="NCHW",
            grad_inputs=(0, 1, 2))


def _statistics(x):
    return x.mean(axis=(0, 1, 2)), x.var(axis=(0, 1, 2))


_x = _batch(4, 2, 3, 2, 3)
for name, more in (("FusedBatchNormGrad", ()), ("FusedBatchNormGradV2", ()),
                   ("FusedBatchNormGradV3", (np.float32(0),))):
    # The gradient for x counts that mean and variance are functions of x: only dy and scale can be checked alone.
    example(name, _batch(5, 2, 3, 2, 3), _x, _scale, *_statistics(_x), *more, epsilon=0.01, grad_inputs=(0, 2),
            second=False)
    example(name, _batch(6, 2, 3, 2, 3), _x, _scale, _mean, _variance, *more, epsilon=0.01, is_training=False,
            grad_inputs=(0, 1, 2))

example("Dilation2D", normal(2, 5, 6, 2), normal(2, 3, 2) / 5, strides=[1, 2, 1, 1], rates=[1, 1, 2, 1], padding="SAME",
        second=False)
example("Dilation2D", normal(1, 5, 5, 1), normal(2, 2, 1) / 5, strides=[1, 1, 1, 1], rates=[1, 1, 1, 1],
        padding="VALID", second=False)
for name in ("Dilation2DBackpropInput", "Dilation2DBackpropFilter"):  # not differentiable again, in TensorFlow too
    example(name, normal(1, 4, 4, 2), normal(2, 2, 2), normal(1, 4, 4, 2), strides=[1, 1, 1, 1], rates=[1, 1, 1, 1],
            padding="SAME", grad=False)

example("WALSComputePartialLhsAndRhs", normal(3, 2).astype(np.float32), np.array([1, 2, 0.5], np.float32), np.float32(0.1),
        np.array([1, 3], np.float32), np.array([[0, 1], [1, 2], [0, 0]]), np.array([1, -2, 3], np.float32), np.zeros(0, np.float32), np.int64(2),
        False, grad=False, dynamic=True)
example("MaskedMatmul", normal(2, 3).astype(np.float32), normal(4, 2).astype(np.float32), np.array([[0, 1], [2, 3], [2, 0]]), True, True, grad=False)
example("NearestNeighbors", normal(4, 3).astype(np.float32), normal(5, 3).astype(np.float32), np.int64(2), grad=False, dynamic=True)
example("KmeansPlusPlusInitialization", normal(6, 2).astype(np.float32), np.int64(3), np.int64(7), np.int64(2), grad=False, dynamic=True)
example("KMC2ChainInitialization", positive(6).astype(np.float32), np.int64(7), grad=False)


def narrow(*shape):
    return (normal(*shape) * 0.5).astype(np.float32)


def lstm_inputs():
    """State, output, weights, peepholes and bias of an LSTM of 4 units with 3 inputs, for 2 rows."""
    return [narrow(2, 4), narrow(2, 4), narrow(7, 16), narrow(4), narrow(4), narrow(4), narrow(16)]


for peephole in (False, True):
    example("LSTMBlockCell", narrow(2, 3), *lstm_inputs(), use_peephole=peephole, cell_clip=0.5, grad=False)
    example("LSTMBlockCellGrad", narrow(2, 3), *lstm_inputs(), *(narrow(2, 4) for _ in range(8)), use_peephole=peephole, grad=False)
    for name in ("BlockLSTM", "BlockLSTMV2"):
        example(name, np.int64(5), narrow(5, 2, 3), *lstm_inputs(), use_peephole=peephole, grad=False)
        example(name.replace("LSTM", "LSTMGrad"), np.int64(4), narrow(5, 2, 3), *lstm_inputs(), *(narrow(5, 2, 4) for _ in range(9)),
                use_peephole=peephole, grad=False)
example("GRUBlockCell", narrow(2, 3), narrow(2, 4), narrow(7, 8), narrow(7, 4), narrow(8), narrow(4), grad=False)
example("GRUBlockCellGrad", narrow(2, 3), narrow(2, 4), narrow(7, 8), narrow(7, 4), narrow(8), narrow(4), *(narrow(2, 4) for _ in range(4)),
        grad=False)
