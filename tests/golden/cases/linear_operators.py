"""Linear operators with structure."""


def cases(tf, np):
    """Products, solutions and numbers of Kronecker products, reflections and zeros."""
    L = tf.linalg
    random = np.random.RandomState(0)
    a, b = random.normal(size=(2, 3, 3)) + 3 * np.eye(3), random.normal(size=(2, 2)) + 2 * np.eye(2)
    wide = random.normal(size=(2, 4))

    def named(values):
        return [tf.identity(value, name="value") for value in values]

    def random_of(shape):
        return np.random.RandomState(3).normal(size=shape)

    def full(matrix, **hints):
        return L.LinearOperatorFullMatrix(matrix, **hints)

    operators = {
        "kronecker": lambda: L.LinearOperatorKronecker([full(a, is_non_singular=True), full(b, is_non_singular=True)]),
        "kronecker of three": lambda: L.LinearOperatorKronecker([full(b), L.LinearOperatorDiag([1.0 + 0.0, 2.0, 3.0] * np.ones(3)), full(b)]),
        "kronecker, complex": lambda: L.LinearOperatorKronecker([full(b + 1j * b.T), full(b.astype(np.complex128))]),
        "circulant": lambda: L.LinearOperatorCirculant(np.array([[1 + 2j, 3 - 1j, 0.5j], [2, 1 - 1j, 4]], np.complex64)),
        "circulant, real": lambda: L.LinearOperatorCirculant(np.float32([4, 2, 1, 2]), input_output_dtype=tf.float32),
        "circulant of blocks": lambda: L.LinearOperatorCirculant2D(
            (random_of([2, 2, 3]) + 1j * random_of([2, 2, 3])).astype(np.complex64), is_non_singular=True),
        "circulant of blocks of blocks": lambda: L.LinearOperatorCirculant3D(2 + random_of([2, 2, 3]).astype(np.complex64)),
        "toeplitz": lambda: L.LinearOperatorToeplitz(np.array([5.0, 1.0, -1.0]), np.array([5.0, 2.0, 0.5])),
        "toeplitz, batch": lambda: L.LinearOperatorToeplitz(np.float32([[5, 1], [4, 2]]), np.float32([[5, 2], [4, -1]]), is_non_singular=True),
        "toeplitz, complex": lambda: L.LinearOperatorToeplitz(np.array([5, 1j, 2], np.complex64), np.array([5, -1j, 1], np.complex64)),
        "householder": lambda: L.LinearOperatorHouseholder(np.array([[1.0, 2.0, 2.0], [0.5, -1.0, 3.0]])),
        "householder, float32": lambda: L.LinearOperatorHouseholder(np.float32([3.0, 4.0])),
    }
    for name in sorted(operators):
        def numbers(make=operators[name]):
            operator = make()
            return named([operator.to_dense(), operator.determinant(), operator.log_abs_determinant(), operator.trace(), operator.diag_part(),
                    operator.shape_tensor(), tf.constant([str(operator.is_self_adjoint), str(operator.is_non_singular), operator.name])])

        def products(make=operators[name]):
            operator = make()
            rows = operator.shape.as_list()[-1]
            x = np.arange(rows * 2.0).reshape(rows, 2).astype(operator.dtype.as_numpy_dtype)
            x = np.broadcast_to(x, operator.batch_shape.as_list() + [rows, 2])
            return named([operator.matmul(x), operator.matmul(x, adjoint=True), operator.matmul(np.swapaxes(x, -1, -2), adjoint_arg=True),
                    operator.solve(x), operator.solve(x, adjoint=True), operator.matvec(x[..., 0]), operator.add_to_tensor(operator.to_dense())])
        yield name, numbers
        yield name + ", products", products
    wrong = (("toeplitz of lengths", lambda: L.LinearOperatorToeplitz([1.0, 2.0], [1.0])),
             ("toeplitz of a number", lambda: L.LinearOperatorToeplitz(1.0, [1.0])),
             ("toeplitz, not square", lambda: L.LinearOperatorToeplitz([1.0], [1.0], is_square=False)),
             ("circulant of a number", lambda: L.LinearOperatorCirculant(1.0)),
             ("circulant of few axes", lambda: L.LinearOperatorCirculant2D([1.0])),
             ("circulant, real, hints", lambda: L.LinearOperatorCirculant([1.0], is_self_adjoint=False)),
             ("circulant, not square", lambda: L.LinearOperatorCirculant([1.0], is_square=False)),
             ("circulant, types", lambda: L.LinearOperatorCirculant([1.0]).matmul([[1.0]])))
    for name, make in wrong:
        yield name, make

    def asserted(make, *names):
        def build():
            operator = make()
            with tf.control_dependencies([getattr(operator, name)() for name in names]):
                return tf.constant(1.0, name="value")
        return build
    checks = "assert_non_singular assert_positive_definite assert_self_adjoint"
    for label, spectrum in (("good", [4.0, 1.0, 1.0]), ("zero", [4.0, 0.0, 0.0]), ("imaginary", [4.0, 1j, -1j]), ("negative", [-4.0, 1j, 1j])):
        for check in checks.split():
            yield "circulant {} {}".format(label, check), asserted(
                lambda spectrum=spectrum: L.LinearOperatorCirculant(np.array(spectrum, np.complex64), tf.complex64), check)
    yield "toeplitz self-adjoint", asserted(lambda: L.LinearOperatorToeplitz([1.0, 2.0], [1.0, 2.0]), "assert_self_adjoint")
    yield "toeplitz not self-adjoint", asserted(lambda: L.LinearOperatorToeplitz([1.0, 2.0], [1.0, 3.0]), "assert_self_adjoint")
    yield "circulant kernel", lambda: named([L.LinearOperatorCirculant([4.0, 1.0, 1.0]).convolution_kernel()])
    yield "kronecker of what is not square", lambda: named([L.LinearOperatorKronecker([full(wide), full(wide.T)]).to_dense()])
    yield "kronecker of none", lambda: L.LinearOperatorKronecker([])
    yield "kronecker of types", lambda: L.LinearOperatorKronecker([full(a), full(np.float32(b))])
    yield "householder, hints", lambda: L.LinearOperatorHouseholder([1.0, 2.0], is_positive_definite=True)
    yield "householder, not square", lambda: L.LinearOperatorHouseholder([1.0, 2.0], is_square=False)

    def zeros():
        operator = L.LinearOperatorZeros(2, 3, batch_shape=[2], is_square=False, is_self_adjoint=False)
        square = L.LinearOperatorZeros(3, dtype=tf.float64)
        column = np.ones((2, 2, 1), np.float32)
        return named([operator.to_dense(), operator.matmul(np.ones((2, 3, 1), np.float32)), operator.matmul(column, adjoint=True),
                square.determinant(), square.trace(), square.diag_part(), square.add_to_tensor(np.eye(3)), square.shape_tensor()])
    yield "zeros", zeros
    yield "zeros have no inverse", lambda: L.LinearOperatorZeros(2).solve(np.ones((2, 1), np.float32))
    yield "zeros, not square", lambda: L.LinearOperatorZeros(2, 3)
    yield "zeros, hints", lambda: L.LinearOperatorZeros(2, is_non_singular=True)
    yield "zeros, rows", lambda: L.LinearOperatorZeros(-1)
