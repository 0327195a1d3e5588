"""Linear operators with structure."""


def cases(tf, np):
    """Products, solutions and numbers of Kronecker products, reflections and zeros."""
    L = tf.linalg
    random = np.random.RandomState(0)
    a, b = random.normal(size=(2, 3, 3)) + 3 * np.eye(3), random.normal(size=(2, 2)) + 2 * np.eye(2)
    wide = random.normal(size=(2, 4))

    def named(values):
        return [tf.identity(value, name="value") for value in values]

    def full(matrix, **hints):
        return L.LinearOperatorFullMatrix(matrix, **hints)

    operators = {
        "kronecker": lambda: L.LinearOperatorKronecker([full(a, is_non_singular=True), full(b, is_non_singular=True)]),
        "kronecker of three": lambda: L.LinearOperatorKronecker([full(b), L.LinearOperatorDiag([1.0 + 0.0, 2.0, 3.0] * np.ones(3)), full(b)]),
        "kronecker, complex": lambda: L.LinearOperatorKronecker([full(b + 1j * b.T), full(b.astype(np.complex128))]),
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
