"""Elementwise mathematics: operators, arithmetic, division, powers, special functions, casts, comparisons."""

REALS = [[-2.5, -1.0, -0.5], [0.5, 1.0, 2.5]]
INSIDE = [-0.9, -0.5, 0.0, 0.25, 0.75]
ABOVE = [1.0, 1.5, 4.0]
POSITIVE = [[0.25, 1.0, 2.0], [3.5, 10.0, 0.01]]
COMPLEX = [1 + 2j, -0.5 + 0.25j, 0.3 - 1.5j]


def named(tf, tensors):
    """Names for gradients: which node computes a gradient is Penstock's own affair."""
    return [tf.identity(tensor, name="value") for tensor in tensors]


def first_and_second(tf, function, *values):
    """The value of a function, its gradients, and the gradients of their sum."""
    xs = [tf.constant(value) for value in values]
    y = function(*xs)
    first = tf.gradients(y, xs)
    known = [g for g in first if g is not None]
    second = tf.gradients(tf.add_n([tf.reduce_sum(g * g) for g in known]), xs)
    return named(tf, [y] + known + [g for g in second if g is not None])


def cases(tf, np):
    """(name, function) pairs."""
    yield from operators(tf, np)
    yield from arithmetic(tf, np)
    yield from functions(tf, np)
    yield from complex_numbers(tf, np)
    yield from comparisons(tf, np)
    yield from casts(tf, np)
    yield from gradients(tf, np)


def operators(tf, np):
    """Python operators on tensors."""
    def x():
        return tf.constant([1.0, -2.0, 3.5], name="x")

    def i():
        return tf.constant([7, -7, 4], name="i")

    yield "x + 1", lambda: x() + 1
    yield "1 + x", lambda: 1 + x()
    yield "x - 1", lambda: x() - 1
    yield "1 - x", lambda: 1 - x()
    yield "x * 2", lambda: x() * 2
    yield "2 * x", lambda: 2 * x()
    yield "x / 2", lambda: x() / 2
    yield "2 / x", lambda: 2 / x()
    yield "i / 2", lambda: i() / 2
    yield "2 / i", lambda: 2 / i()
    yield "i // 2", lambda: i() // 2
    yield "i // -2", lambda: i() // -2
    yield "x // 2", lambda: x() // 2
    yield "100 // i", lambda: 100 // i()
    yield "i % 3", lambda: i() % 3
    yield "i % -3", lambda: i() % -3
    yield "x % 2", lambda: x() % 2
    yield "20 % i", lambda: 20 % i()
    yield "x ** 2", lambda: x() ** 2
    yield "2 ** x", lambda: 2 ** x()
    yield "i ** 2", lambda: i() ** 2
    yield "-x", lambda: -x()
    yield "abs(x)", lambda: abs(x())
    yield "comparisons", lambda: [x() < 1, x() <= 1, x() > 1, x() >= 1, x() > 1]
    yield "logic", lambda: [(x() > 0) & (x() < 2), (x() > 0) | (x() < -1), (x() > 0) ^ (x() < 2), ~(x() > 0)]
    yield "array + x", lambda: np.array([1.0, 2.0, 3.0], np.float32) + x()
    yield "x + array", lambda: x() + np.array([1.0, 2.0, 3.0])
    yield "float64 array - x", lambda: np.array([1.0, 2.0, 3.0]) - x()
    yield "list * x", lambda: [1.0, 2.0, 3.0] * x()
    yield "x - list", lambda: x() - [1.0, 2.0, 3.0]
    yield "NumPy scalar * x", lambda: np.float32(2) * x()
    yield "i + float", lambda: i() + 1.5
    yield "float + i", lambda: 1.5 + i()
    yield "x + i", lambda: x() + i()
    yield "x + None", lambda: x() + None
    yield "strings", lambda: tf.constant(["a", "b"]) + "c"
    yield "x == x", lambda: tf.constant(x() == x())
    yield "matmul", lambda: tf.constant([[1.0, 2.0]]) @ tf.constant([[3.0], [4.0]])
    yield "bad shapes", lambda: x() + tf.constant([1.0, 2.0])
    yield "bad shapes at run time", lambda: x() + tf.placeholder_with_default([1.0, 2.0], [None])
    yield "broadcast", lambda: tf.ones([2, 1, 3]) + tf.ones([4, 1])
    yield "broadcast of unknown shapes", lambda: (
        tf.placeholder_with_default(np.ones([2, 1], "f"), [None, 1]) * tf.placeholder_with_default(np.ones(3, "f"), [None]))


def arithmetic(tf, np):
    """Functions of two numbers."""
    yield "add names", lambda: [tf.add(1.0, 2.0), tf.add(1.0, 2.0, "sum"), tf.add([1, 2], [3, 4], name="s")]
    yield "subtract", lambda: tf.subtract([1, 2], 3)
    yield "multiply", lambda: tf.multiply([[1.0], [2.0]], [3.0, 4.0])
    yield "scalar_mul", lambda: tf.scalar_mul(2.0, tf.constant([1.0, 2.0]))
    yield "div of ints", lambda: tf.div([7, -7, 7, -7], [2, 2, -2, -2])
    yield "div of floats", lambda: tf.div([7.0, -7.0], [2.0, 0.0])
    yield "divide of ints", lambda: tf.divide([7, -7], tf.constant([2, 4]))
    yield "truediv of int8", lambda: tf.truediv(tf.constant([7], tf.int8), tf.constant([2], tf.int8))
    yield "truediv of int64", lambda: tf.truediv(tf.constant([7], tf.int64), tf.constant([2], tf.int64))
    yield "floordiv", lambda: tf.floordiv([7, -7, 7, -7], [2, 2, -2, -2])
    yield "floordiv of floats", lambda: tf.floordiv([7.0, -7.0, 1.0, -1.0], [2.0, 2.0, 0.3, 0.0])
    yield "truncatediv", lambda: tf.truncatediv([7, -7, 7, -7], [2, 2, -2, -2])
    yield "truncatemod", lambda: tf.truncatemod([7, -7, 7, -7], [4, 4, -4, -4])
    yield "mod", lambda: tf.mod([7, -7, 7, -7], [4, 4, -4, -4])
    yield "mod of floats", lambda: tf.mod([5.5, -5.5, 5.5, -5.5, 0.0], [3.0, 3.0, -3.0, -3.0, 2.0])
    yield "division by zero", lambda: tf.floordiv([1, 2], tf.placeholder_with_default([0, 1], [2]))
    yield "remainder by zero", lambda: tf.mod([1, 2], tf.placeholder_with_default([0, 1], [2]))
    yield "nothing divided by zero", lambda: [divide(tf.zeros([0], tf.int32), tf.placeholder_with_default(0, []))
                                              for divide in (tf.div, tf.floordiv, tf.mod, tf.truncatediv, tf.truncatemod)]
    yield "div_no_nan", lambda: tf.div_no_nan([1.0, 0.0, 2.0], [0.0, 0.0, 4.0])
    yield "multiply_no_nan", lambda: tf.math.multiply_no_nan([1.0, np.nan, np.inf], [2.0, 0.0, 0.0])
    yield "reciprocal_no_nan", lambda: tf.math.reciprocal_no_nan([2.0, 0.0])
    yield "pow", lambda: tf.pow([[2.0, 3.0], [-2.0, 0.0]], [2.0, 0.5])
    yield "pow of ints", lambda: tf.pow(tf.constant([2, -3, 0]), [3, 2, 0])
    yield "maximum", lambda: tf.maximum([1, 5, 3], 3)
    yield "minimum", lambda: tf.minimum([1.0, 5.0], [[2.0], [0.0]])
    yield "squared_difference", lambda: tf.squared_difference([1.0, 2.0], [[3.0], [5.0]])
    yield "squared_difference of complex", lambda: tf.squared_difference(tf.constant([1 + 2j]), tf.constant([0.5j]))
    yield "add_n", lambda: tf.add_n([tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0]), tf.constant([5.0, 6.0])])
    yield "add_n of one", lambda: [tf.add_n([tf.constant([1.0])]), tf.add_n([tf.constant([1.0])], name="n")]
    yield "add_n of bad shapes", lambda: tf.add_n([tf.constant([1.0]), tf.constant([1.0, 2.0])])
    yield "add_n of nothing", lambda: tf.add_n([])
    yield "accumulate_n", lambda: tf.accumulate_n([tf.constant([1, 2]), tf.constant([3, 4])])
    yield "atan2", lambda: tf.atan2([1.0, -1.0, 0.0, -0.0], [-1.0, -1.0, 1.0, -1.0])
    yield "xlogy", lambda: [tf.math.xlogy([0.0, 1.0, 2.0], [0.0, 2.0, 3.0]), tf.math.xdivy([0.0, 1.0], [0.0, 2.0])]
    yield "bitwise", lambda: [f([12, -1, 7], [10, 3, 8]) for f in (tf.bitwise.bitwise_and, tf.bitwise.bitwise_or, tf.bitwise.bitwise_xor)]
    yield "shifts", lambda: [tf.bitwise.left_shift([1, -1, 3], [3, 2, 0]), tf.bitwise.right_shift([16, -16, 3], [3, 2, 0])]
    yield "invert", lambda: [tf.bitwise.invert([0, 5, -1]), tf.bitwise.invert(tf.constant([0, 5], tf.uint8))]
    yield "igamma", lambda: [tf.igamma([1.0, 2.0, 0.5], [0.5, 4.0, 0.1]), tf.igammac([1.0, 2.0, 0.5], [0.5, 4.0, 0.1])]
    yield "zeta", lambda: tf.zeta([2.0, 3.5], [1.0, 0.5])
    yield "polygamma", lambda: tf.polygamma([0.0, 1.0, 2.0], [1.5, 0.5, 3.0])
    yield "betainc", lambda: tf.betainc([1.0, 2.0], [3.0, 0.5], [0.25, 0.75])
    yield "nextafter", lambda: tf.math.nextafter([1.0, 0.0], [2.0, -1.0])
    yield "cross", lambda: tf.cross([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]], [[4.0, 5.0, 6.0], [1.0, 0.0, 0.0]])
    yield "cross of two", lambda: tf.cross([1.0, 2.0], [3.0, 4.0])
    yield "polyval", lambda: tf.math.polyval([1.0, -2.0, 3.0], tf.constant([1.0, 2.0]))
    yield "lbeta", lambda: tf.lbeta([[0.5, 1.0, 2.0], [3.0, 3.0, 3.0]])
    yield "float16", lambda: [f(tf.constant([1.5, 0.1], tf.float16), tf.constant([2.5, 3.0], tf.float16)) for f in (
        tf.add, tf.subtract, tf.multiply, tf.divide, tf.maximum, tf.pow, tf.floordiv, tf.mod)]
    yield "bfloat16", lambda: [f(tf.constant([1.5, 0.1], tf.bfloat16), tf.constant([2.5, 3.0], tf.bfloat16)) for f in (
        tf.add, tf.subtract, tf.multiply, tf.divide, tf.maximum)]
    yield "small ints", lambda: [tf.constant([100, -100], tf.int8) + tf.constant([100, -100], tf.int8),
                                 tf.constant([200], tf.uint8) * tf.constant([2], tf.uint8)]
    yield "uint8 - int", lambda: tf.constant([3, 4], tf.uint8) - 4


def functions(tf, np):
    """Functions of one number."""
    for names, values in (
            ("negative abs sign square exp expm1 sin cos tan atan sinh cosh tanh asinh sigmoid erf erfc floor ceil rint round "
             "log_sigmoid reciprocal", REALS),
            ("sqrt rsqrt log log1p lgamma digamma", POSITIVE),
            ("asin acos atanh", INSIDE),
            ("acosh", ABOVE)):
        for name in names.split():
            yield name, lambda f=getattr(tf, name), v=values: [f(v), f(tf.constant(v, tf.float64), name="n")]
    yield "bessel", lambda: [f(REALS) for f in (tf.math.bessel_i0, tf.math.bessel_i0e, tf.math.bessel_i1, tf.math.bessel_i1e)]
    yield "of ints", lambda: [tf.abs([-1, 2]), tf.sign([-3, 0, 3]), tf.square([-3, 2]), tf.negative([1, 2]), tf.round([1, 2])]
    yield "halves", lambda: [tf.round([0.5, 1.5, 2.5, -0.5, -1.5]), tf.rint([0.5, 1.5, 2.5, -0.5, -1.5])]
    yield "poles", lambda: [tf.log([0.0, -1.0]), tf.sqrt([-1.0]), tf.reciprocal([0.0]), tf.rsqrt([0.0])]
    yield "large", lambda: [tf.sigmoid([-100.0, 100.0]), tf.tanh([-50.0, 50.0]), tf.exp([100.0, -200.0])]
    yield "float16 functions", lambda: [f(tf.constant([0.5, 2.0], tf.float16)) for f in (
        tf.exp, tf.log, tf.sqrt, tf.tanh, tf.sigmoid, tf.sin, tf.erf, tf.lgamma, tf.rsqrt)]
    yield "bfloat16 functions", lambda: [f(tf.constant([0.5, 2.0], tf.bfloat16)) for f in (tf.exp, tf.log, tf.sqrt, tf.tanh, tf.abs)]
    yield "sqrt of an int", lambda: tf.sqrt([4])
    yield "of a SparseTensor", lambda: tf.identity(tf.square(tf.SparseTensor([[0], [2]], [2.0, 3.0], [4])).values, name="s")


def complex_numbers(tf, np):
    """Complex arguments."""
    def c():
        return tf.constant(COMPLEX, tf.complex64)

    for name in ["abs", "real", "imag", "conj", "angle", "negative", "square", "sqrt", "rsqrt", "exp", "log", "log1p", "sin", "cos", "tan",
                 "sinh", "cosh", "tanh", "sigmoid", "reciprocal", "sign"]:
        yield "complex " + name, lambda f=getattr(tf, name): f(c())
    yield "complex arithmetic", lambda: [c() + c(), c() - 1j, c() * c(), c() / (1 + 1j), c() ** 2, tf.reduce_sum(c()), tf.reduce_prod(c())]
    yield "complex from parts", lambda: [tf.complex([1.0, 2.0], [3.0, 4.0]), tf.complex(tf.constant(1.0, tf.float64), tf.constant(2.0, tf.float64))]
    yield "parts of reals", lambda: [tf.real([1.0]), tf.imag([1.0]), tf.conj([1.0]), tf.angle([-1.0])]
    yield "complex from ints", lambda: tf.complex([1, 2], [3, 4])
    for name in ["square", "sqrt", "rsqrt", "exp", "log", "sin", "cos", "tanh", "sigmoid", "reciprocal", "conj"]:
        yield "complex gradient of " + name, lambda f=getattr(tf, name): complex_gradient(tf, f, c())
    yield "complex gradient of abs", lambda: complex_gradient(tf, tf.abs, c())
    yield "complex gradient of angle", lambda: complex_gradient(tf, tf.angle, c())
    yield "complex gradient of a product", lambda: complex_gradient(tf, lambda x: x * x * (2 - 1j) / (x + 1), c())
    yield "complex gradient of parts", lambda: complex_gradient(tf, lambda x: tf.real(x) * tf.imag(x), c())
    yield "complex gradient of pow", lambda: complex_gradient(tf, lambda x: tf.pow(x, x), c())


def complex_gradient(tf, function, x):
    """The gradient of sum(abs(f(x)) ** 2)-like loss: real, so that the direction is well defined."""
    y = function(x)
    loss = tf.reduce_sum(tf.real(y) * 2.0 + tf.imag(y) * 3.0 + tf.real(y) * tf.imag(y))
    return named(tf, tf.gradients(loss, x))


def comparisons(tf, np):
    """Comparisons and logic."""
    yield "equal", lambda: [tf.equal([1, 2], [1, 3]), tf.not_equal([1.0, np.nan], [1.0, np.nan]), tf.equal(["a", "b"], "a")]
    yield "equal of bools", lambda: tf.equal([True, False], [False, False])
    yield "less", lambda: [f([1, 2, 3], 2) for f in (tf.less, tf.less_equal, tf.greater, tf.greater_equal)]
    yield "logical", lambda: [f([True, True, False], [True, False, False]) for f in (tf.logical_and, tf.logical_or, tf.logical_xor)]
    yield "logical_not", lambda: tf.logical_not([True, False])
    yield "logical of ints", lambda: tf.logical_and([1], [0])
    yield "is_nan", lambda: [f([1.0, np.nan, np.inf, -np.inf]) for f in (tf.is_nan, tf.is_inf, tf.is_finite)]
    yield "broadcast comparison", lambda: tf.greater([[1.0], [3.0]], [0.0, 2.0, 4.0])
    yield "equal of bad shapes", lambda: tf.equal([1, 2, 3], [1, 2])


def casts(tf, np):
    """Changes of type."""
    floats = [-1.7, -0.2, 0.0, 1.5, 300.7]
    for name in ("float16", "bfloat16", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "bool", "complex64"):
        yield "float32 to " + name, lambda t=getattr(tf, name): tf.cast(floats, t)
        yield name + " to float32", lambda t=getattr(tf, name): tf.cast(tf.cast([0.0, 1.0, 7.0], t), tf.float32)
    yield "cast of the same type", lambda: tf.cast(tf.constant(1.0), tf.float32)
    yield "cast of complex", lambda: [tf.cast(tf.constant([1 + 2j]), t) for t in (tf.float32, tf.int32, tf.complex64)]
    yield "cast of ints", lambda: [tf.cast([300, -1], t) for t in (tf.uint8, tf.int8, tf.bool, tf.int64)]
    yield "cast of bools", lambda: [tf.cast([True, False], t) for t in (tf.float32, tf.int32, tf.uint8)]
    yield "to_float", lambda: [f([1, 2]) for f in (tf.to_float, tf.to_double, tf.to_int64, tf.to_bfloat16)]
    yield "to_int32", lambda: tf.to_int32([1.7, -1.7], name="i")
    yield "saturate_cast", lambda: [tf.saturate_cast([-5.0, 300.0, 7.0], t) for t in (tf.uint8, tf.int8)]
    yield "saturate_cast of ints", lambda: tf.saturate_cast([-5, 300, 7], tf.uint8)
    yield "bitcast", lambda: [tf.bitcast([1.0, 2.0], tf.int32), tf.bitcast([1.0, 2.0], tf.uint8), tf.bitcast([[1, 2]], tf.int64)]
    yield "bad bitcast", lambda: tf.bitcast([[1, 2, 3]], tf.int64)
    yield "cast of a SparseTensor", lambda: tf.cast(tf.SparseTensor([[0], [2]], [2.5, 3.0], [4]), tf.int32).values
    yield "gradient of a cast", lambda: first_and_second(tf, lambda x: tf.square(tf.cast(x, tf.float64)), [1.0, 2.0])
    yield "gradient of a cast to int", lambda: [tf.constant(tf.gradients(tf.cast(x, tf.int32), x)[0] is None) for x in [tf.constant(1.0)]]


def gradients(tf, np):
    """First and second order."""
    for names, value in (
            ("square exp expm1 sin cos tan atan sinh cosh tanh asinh sigmoid erf erfc reciprocal log_sigmoid abs", REALS),
            ("sqrt rsqrt log log1p lgamma digamma", POSITIVE),
            ("asin acos atanh", INSIDE)):
        for name in names.split():
            yield "gradient of " + name, lambda f=getattr(tf, name), v=value: first_and_second(tf, f, v)
    for name in ["add", "subtract", "multiply", "divide", "pow", "maximum", "minimum", "squared_difference"]:
        yield f"gradient of {name} with broadcasting", lambda f=getattr(tf, name): first_and_second(
            tf, lambda x, y: tf.square(f(x, y)), POSITIVE, [[1.5], [0.5]])
    yield "gradient of mod", lambda: first_and_second(tf, tf.mod, [5.5, -5.5], [3.0, 3.0])
    yield "gradient of pow at 0", lambda: pow_at_zero(tf)
    yield "gradient of atan2", lambda: first_and_second(tf, tf.atan2, [1.0, -2.0], [0.5, 1.5])
    yield "gradient of igamma", lambda: igamma_gradients(tf)
    yield "gradient of betainc", lambda: first_and_second(tf, lambda x: tf.betainc(2.0, 3.0, x), [0.25, 0.5])
    yield "gradient of xlogy", lambda: first_and_second(tf, tf.math.xlogy, [0.5, 2.0], [1.5, 3.0])
    yield "gradient of div_no_nan", lambda: first_and_second(tf, tf.div_no_nan, [0.5, 2.0, 1.0], [1.5, 3.0, 0.0])
    yield "gradient of add_n", lambda: first_and_second(tf, lambda x, y: tf.square(tf.add_n([x, y, x])), [1.0, 2.0], [3.0, 4.0])
    yield "gradient of floor", lambda: floor_gradient(tf)
    yield "gradient of sign", lambda: named(tf, [tf.gradients(tf.sign(x), x)[0] for x in [tf.constant([1.0, -1.0])]])
    for name in ["sqrt", "rsqrt", "reciprocal"]:
        yield "gradient of a masked pole of " + name, lambda f=getattr(tf, name): named(tf, [
            tf.gradients(tf.where(x > 0, f(x), x), x)[0] for x in [tf.constant([0.0, 4.0])]])
    yield "gradient of cross", lambda: first_and_second(tf, tf.cross, [1.0, 2.0, 3.0], [0.5, -1.0, 2.0])
    yield "gradient of unknown shapes", lambda: unknown_shapes(tf, np)


def pow_at_zero(tf):
    """0 ** y and its gradients."""
    x, y = tf.constant([0.0, 2.0, -1.0]), tf.constant([2.0, 3.0, 2.0])
    return named(tf, tf.gradients(tf.pow(x, y), [x, y]))


def igamma_gradients(tf):
    """With regard to both arguments."""
    a, x = tf.constant([1.0, 2.0, 5.0, 0.5]), tf.constant([0.5, 4.0, 5.5, 3.0])
    return named(tf, tf.gradients(tf.igamma(a, x), [a, x]))


def floor_gradient(tf):
    """There is none."""
    x = tf.constant([1.5])
    return tf.constant([tf.gradients(f(x), x)[0] is None for f in (tf.floor, tf.ceil)])


def unknown_shapes(tf, np):
    """Broadcasting that is only known at run time."""
    x = tf.placeholder_with_default(np.ones([2, 3], "f"), None)
    y = tf.placeholder_with_default(np.arange(3, dtype="f"), [None])
    z = tf.placeholder_with_default(np.ones([2, 1], "f") * 2, [None, None])
    return named(tf, tf.gradients(x * y / z, [x, y, z]))
