"""Examples of the elementwise ops: arithmetic, division, powers, trigonometry, special functions, rounding, casts."""
import numpy as np

from support.examples import bools, example, integers, ints, normal, positive, strings, uniform


def cnormal(*shape):
    """Complex numbers."""
    return normal(*shape) + 1j * normal(*shape)


# arithmetic
example("Add", normal(2, 3), normal(3))
example("Add", strings("a", "b"), strings("c", "d"))
example("AddV2", normal(2, 3), normal(2, 1))
example("AddV2", normal(2, 3), normal(1, 2, 1))
example("Sub", normal(4, 1, 2), normal(3, 2))
example("Sub", normal(2), np.float64(1.5))
example("Mul", normal(2, 3), normal(3))
example("Mul", cnormal(3), cnormal(3))
example("MulNoNan", normal(2, 3), np.array([0.0, 1.0, 2.0]), second=False)
example("RealDiv", normal(2, 3), positive(2, 1))
example("RealDiv", cnormal(2), cnormal(2))
example("DivNoNan", normal(2, 3), positive(3))
example("DivNoNan", normal(3), np.array([0.0, 1.0, 2.0]), grad=False)  # there is a pole at 0
example("Maximum", normal(2, 3), normal(3))
example("Minimum", normal(2, 3), normal(2, 1))
example("SquaredDifference", normal(2, 3), normal(3))
example("AddN", [normal(2, 3), normal(2, 3), normal(2, 3)])
example("AccumulateNV2", [normal(2, 3), normal(2, 3)], shape=[2, 3])
example("Neg", normal(2, 3))
example("Abs", normal(2, 3))
example("Sign", normal(2, 3))
example("Sign", cnormal(3), grad=False)  # its derivative is not 0, but TensorFlow's gradient is
example("Square", normal(2, 3))
example("Square", cnormal(2))

# division of integers and remainders
example("Div", ints(-7, 7, 7), ints(2, -2, 2), types=())
example("Div", ints(7, 8, 9), ints(2, 2, 5))
example("Div", normal(2, 3), positive(3))
example("TruncateDiv", ints(-7, 7, 7), ints(2, -2, 2), types=())
example("TruncateDiv", ints(7, 8, 9), ints(2, 2, 5))
example("FloorDiv", ints(-7, 7, 7), ints(2, -2, 2), types=())
example("FloorDiv", ints(7, 8, 9), ints(2, 2, 5), types=("bfloat16", "float32", "uint8", "int8", "uint16", "int64"))
example("FloorDiv", normal(2, 3), positive(3), types=("float32", "bfloat16"), precision=1e6)  # a step may move
example("FloorMod", np.array([5.2, -5.2, 5.2, -5.2]), np.array([3.0, 3.0, -3.0, -3.0]))
example("FloorMod", ints(5, -5, 5, -5), ints(3, 3, -3, -3))
example("Mod", ints(5, -5, 5, -5), ints(3, 3, -3, -3))
example("Mod", np.array([5.2, -5.2]), np.array([3.0, -3.0]))
example("TruncateMod", np.array([5.2, -5.2]), np.array([3.0, -3.0]))

# powers, exponentials, logarithms
example("Pow", positive(2, 3), normal(3))
example("Pow", ints(2, -3), ints(3, 2))
example("Sqrt", positive(2, 3))
example("SqrtGrad", positive(2, 3), normal(2, 3))
example("Rsqrt", positive(2, 3))
example("RsqrtGrad", positive(2, 3), normal(2, 3))
example("Reciprocal", positive(2, 3))
example("ReciprocalGrad", positive(2, 3), normal(2, 3))
example("Inv", positive(2, 3))
example("InvGrad", positive(2, 3), normal(2, 3))
example("Exp", normal(2, 3))
example("Exp", cnormal(2))
example("Expm1", normal(2, 3))
example("Log", positive(2, 3))
example("Log", cnormal(2))
example("Log1p", positive(2, 3))
example("Xlogy", positive(2, 3), positive(3))
example("Xlogy", np.zeros(2), np.array([0.0, 1.0]), grad=False)  # infinite at y = 0
example("Xdivy", positive(2, 3), positive(3))
example("Xdivy", np.zeros(2), np.array([0.0, 1.0]), grad=False)  # infinite at y = 0

# trigonometry
for name in ("Sin", "Cos", "Sinh", "Cosh", "Tanh", "Asinh", "Sigmoid"):
    example(name, normal(2, 3))
    example(name, cnormal(2))
for name in ("Tan", "Asin", "Acos", "Atanh"):
    example(name, uniform(2, 3, low=-0.8, high=0.8))
example("Atan", normal(2, 3))
example("Acosh", uniform(2, 3, low=1.5, high=3.0))
example("Atan2", normal(2, 3), positive(3))
example("TanhGrad", normal(2, 3), normal(2, 3))
example("SigmoidGrad", normal(2, 3), normal(2, 3))

# special functions
example("Erf", normal(2, 3))
example("Erfc", normal(2, 3))
example("Lgamma", positive(2, 3))
example("Digamma", positive(2, 3))
example("Polygamma", np.array([0.0, 1.0, 2.0]), positive(2, 3), grad_inputs=(1,))
example("Zeta", uniform(3, low=1.5, high=4.0), positive(2, 3), grad_inputs=(1,))
example("Igamma", positive(2, 3), positive(3), second=False)  # IgammaGradA has no gradient
example("Igamma", np.array([1.0, 2.0]), np.array([4.0, 0.1]), second=False)
example("Igammac", positive(2, 3), positive(3), second=False)
example("IgammaGradA", positive(2, 3), positive(3), grad=False)  # TensorFlow has none
example("IgammaGradA", np.array([1.0, 2.0, 0.5]), np.array([40.0, 5.0, 0.0]), grad=False)
example("Betainc", positive(2, 3), positive(2, 3), uniform(2, 3, low=0.1, high=0.9), grad_inputs=(2,))
example("BesselI0e", normal(2, 3))
example("BesselI1e", normal(2, 3))

# rounding
example("Floor", normal(2, 3), precision=1e6)
example("Ceil", normal(2, 3), precision=1e6)
example("Rint", np.array([0.5, 1.5, -2.5, 0.3]))
example("Round", np.array([0.5, 1.5, -2.5, 0.3]))
example("Round", ints(1, -2))
example("NextAfter", normal(2, 3), normal(3), grad_inputs=(0,), types=())  # the next number depends on the type

# casts and complex numbers
example("Cast", normal(2, 3), DstT=np.float32, tolerance=1e-2)
example("Cast", normal(2, 3), DstT=np.int32)
example("Cast", np.array([[1.0, 2.0]]), DstT=np.int32, Truncate=True, types=())
example("Cast", bools(3), DstT=np.float64)
example("Cast", ints(0, 1, 2), DstT=np.bool_)
example("Bitcast", np.array([1.0, 2.0], np.float32), type=np.int32, types=())
example("Bitcast", np.array([1.0, 2.0], np.float32), type=np.uint8, types=())
example("Bitcast", ints(1, 2), type=np.int64, types=())
example("Complex", normal(2, 3), normal(3), Tout=np.complex128, types=())
example("Real", cnormal(2), Tout=np.float64, types=())
example("Imag", cnormal(2), Tout=np.float64, types=())
example("Conj", cnormal(2))
example("Angle", cnormal(3), Tout=np.float64, types=())
example("ComplexAbs", cnormal(3), Tout=np.float64, types=())

# bits
example("BitwiseAnd", integers(2, 3), integers(3))
example("BitwiseOr", integers(2, 3), integers(3))
example("BitwiseXor", integers(2, 3), integers(3))
example("Invert", integers(2, 3))
example("LeftShift", integers(2, 3), integers(3, high=4))
example("LeftShift", ints(1, 1), ints(40, -1), types=())
example("RightShift", integers(2, 3, high=100), integers(3, high=4))
example("PopulationCount", ints(7, 0, 100))
example("PopulationCount", ints(-1), types=())
example("CompareAndBitpack", normal(2, 16), np.float64(0.1))
