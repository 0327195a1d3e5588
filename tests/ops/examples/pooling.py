"""Examples of pooling. Maxima are taken of distinct values: their kinks are at ties."""
import numpy as np

from support.examples import distinct, example, ints, normal

_HALVES = dict(ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
_OVERLAP = dict(ksize=[1, 3, 2, 1], strides=[1, 2, 1, 1], padding="SAME")
_FIRST = dict(ksize=[1, 1, 3, 2], strides=[1, 1, 2, 2], padding="SAME", data_format="NCHW")
_DEPTH = dict(ksize=[1, 1, 1, 2], strides=[1, 1, 1, 2], padding="VALID")
_VOLUME = dict(ksize=[1, 2, 2, 2, 1], strides=[1, 1, 2, 2, 1], padding="SAME")
_CASES = [((2, 4, 6, 2), (2, 2, 3, 2), _HALVES), ((2, 5, 4, 2), (2, 3, 4, 2), _OVERLAP),
          ((2, 2, 5, 5), (2, 2, 3, 3), _FIRST),
          ((2, 3, 3, 4), (2, 3, 3, 2), _DEPTH)]

for x, y, attrs in _CASES:
    example("MaxPool", distinct(*x), **attrs)
    example("MaxPoolGrad", distinct(*x), normal(*y), normal(*y), **attrs, grad_inputs=(2,))
    example("MaxPoolGradGrad", distinct(*x), normal(*y), normal(*x), **attrs, grad_inputs=(2,))
    example("AvgPool", normal(*x), **attrs)
    example("AvgPoolGrad", ints(*x), normal(*y), **attrs)

_SIZES = (ints(1, 3, 2, 1), ints(1, 2, 1, 1))
example("MaxPoolV2", distinct(2, 5, 4, 2), *_SIZES, padding="SAME")
example("MaxPoolGradV2", distinct(2, 5, 4, 2), normal(2, 3, 4, 2), normal(2, 3, 4, 2), *_SIZES, padding="SAME",
        grad_inputs=(2,))
example("MaxPoolGradGradV2", distinct(2, 5, 4, 2), normal(2, 3, 4, 2), normal(2, 5, 4, 2), *_SIZES, padding="SAME",
        grad_inputs=(2,))


def _floats(array):
    return array.astype(np.float32)  # MaxPool3D has no float64


example("MaxPool3D", _floats(distinct(1, 3, 4, 4, 2)), **_VOLUME)
example("MaxPool3DGrad", _floats(distinct(1, 3, 4, 4, 2)), _floats(normal(1, 3, 2, 2, 2)),
        _floats(normal(1, 3, 2, 2, 2)), **_VOLUME, grad_inputs=(2,))
example("MaxPool3DGradGrad", _floats(distinct(1, 3, 4, 4, 2)), _floats(normal(1, 3, 2, 2, 2)),
        _floats(normal(1, 3, 4, 4, 2)), **_VOLUME, grad_inputs=(2,))
example("AvgPool3D", normal(1, 3, 4, 4, 2), **_VOLUME)
example("AvgPool3DGrad", ints(1, 3, 4, 4, 2), normal(1, 3, 2, 2, 2), **_VOLUME)

_ARGMAX = np.array([1, 4, 3, 6]).reshape(1, 2, 2, 1) * np.ones((2, 1, 1, 1), int)
example("MaxPoolWithArgmax", distinct(2, 4, 4, 2), **_HALVES)
example("MaxPoolWithArgmax", distinct(2, 5, 4, 2), **_OVERLAP, include_batch_in_index=True, Targmax="int32")
example("MaxPoolGradWithArgmax", normal(2, 4, 4, 1), normal(2, 2, 2, 1), _ARGMAX, **_HALVES, grad_inputs=(1,))
example("MaxPoolGradGradWithArgmax", normal(2, 4, 4, 1), normal(2, 4, 4, 1), _ARGMAX, **_HALVES, grad_inputs=(1,))

_RATIO = dict(pooling_ratio=[1.0, 1.4, 1.8, 1.0], deterministic=True, seed=1, seed2=2)
_SEQUENCES = (np.array([0, 2, 3, 5]), np.array([0, 1, 3, 4]))
for overlapping in (False, True):
    example("FractionalMaxPool", distinct(2, 5, 7, 2), **_RATIO, overlapping=overlapping, second=False)
    example("FractionalAvgPool", normal(2, 5, 7, 2), **_RATIO, overlapping=overlapping, pseudo_random=True,
            second=False)
    # not differentiable again, in TensorFlow too
    example("FractionalMaxPoolGrad", distinct(2, 5, 4, 2), normal(2, 3, 3, 2), normal(2, 3, 3, 2), *_SEQUENCES,
            overlapping=overlapping, grad=False)
    example("FractionalAvgPoolGrad", ints(2, 5, 4, 2, dtype=np.int64), normal(2, 3, 3, 2), *_SEQUENCES,
            overlapping=overlapping, grad=False)
