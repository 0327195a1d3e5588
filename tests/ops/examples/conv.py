"""Examples of convolutions."""
from support.examples import example, ints, normal

_ONE = [1, 1, 1, 1]
_CASES = [  # input (channels last), filter, attributes
    ((2, 5, 6, 2), (3, 2, 2, 3), dict(strides=_ONE, padding="SAME")),
    ((2, 5, 6, 2), (3, 2, 2, 3), dict(strides=[1, 2, 2, 1], padding="VALID")),
    ((1, 6, 7, 2), (2, 3, 2, 2), dict(strides=[1, 2, 1, 1], padding="SAME")),
    ((1, 7, 6, 1), (3, 3, 1, 2), dict(strides=_ONE, padding="SAME", dilations=[1, 2, 1, 1])),
    ((2, 4, 4, 3), (1, 1, 3, 2), dict(strides=_ONE, padding="VALID")),
    ((1, 4, 4, 4), (2, 2, 2, 4), dict(strides=_ONE, padding="SAME")),  # two groups
    ((1, 4, 5, 2), (2, 2, 2, 3), dict(strides=_ONE, padding="EXPLICIT", explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0])),
]


def _output(shape, kernel, strides, padding, dilations=(1, 1, 1, 1), explicit_paddings=(0,) * 8, axes=2):
    inner = []
    for i in range(1, axes + 1):
        reach = (kernel[i - 1] - 1) * dilations[i] + 1
        amount = sum(explicit_paddings[2 * i:2 * i + 2]) if padding == "EXPLICIT" else 0
        inner.append(-(-shape[i] // strides[i]) if padding == "SAME" else (shape[i] + amount - reach) // strides[i] + 1)
    return (shape[0], *inner, kernel[-1])


for x, f, attrs in _CASES:
    dy = _output(x, f, **attrs)
    example("Conv2D", normal(*x), normal(*f), **attrs)
    example("Conv2DBackpropInput", ints(*x), normal(*f), normal(*dy), **attrs)
    example("Conv2DBackpropFilter", normal(*x), ints(*f), normal(*dy), **attrs)

_FIRST = dict(strides=[1, 1, 2, 1], padding="SAME", data_format="NCHW", dilations=[1, 1, 1, 2])
example("Conv2D", normal(2, 3, 5, 6), normal(3, 2, 3, 2), **_FIRST)
example("Conv2DBackpropInput", ints(2, 3, 5, 6), normal(3, 2, 3, 2), normal(2, 2, 3, 6), **_FIRST)
example("Conv2DBackpropFilter", normal(2, 3, 5, 6), ints(3, 2, 3, 2), normal(2, 2, 3, 6), **_FIRST)

_VOLUME = dict(strides=[1, 1, 2, 1, 1], padding="SAME")
example("Conv3D", normal(1, 3, 4, 3, 2), normal(2, 3, 2, 2, 2), **_VOLUME)
example("Conv3D", normal(1, 2, 3, 4, 3), normal(2, 2, 2, 2, 3), strides=[1, 1, 1, 1, 1], padding="VALID",
        data_format="NCDHW")
example("Conv3DBackpropInputV2", ints(1, 3, 4, 3, 2), normal(2, 3, 2, 2, 2), normal(1, 3, 2, 3, 2), **_VOLUME)
example("Conv3DBackpropFilterV2", normal(1, 3, 4, 3, 2), ints(2, 3, 2, 2, 2), normal(1, 3, 2, 3, 2), **_VOLUME)

for attrs in (dict(strides=_ONE, padding="SAME"), dict(strides=[1, 2, 2, 1], padding="VALID"),
              dict(strides=_ONE, padding="SAME", dilations=[1, 2, 2, 1])):
    dy = _output((2, 5, 6, 2), (3, 2, 2, 6), **attrs)
    example("DepthwiseConv2dNative", normal(2, 5, 6, 2), normal(3, 2, 2, 3), **attrs)
    example("DepthwiseConv2dNativeBackpropInput", ints(2, 5, 6, 2), normal(3, 2, 2, 3), normal(*dy), **attrs)
    example("DepthwiseConv2dNativeBackpropFilter", normal(2, 5, 6, 2), ints(3, 2, 2, 3), normal(*dy), **attrs)
example("DepthwiseConv2dNative", normal(2, 3, 5, 4), normal(2, 2, 3, 1), strides=_ONE, padding="SAME",
        data_format="NCHW")
