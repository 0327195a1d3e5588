"""Golden cases: products of matrices, einsum, diagonals, linear systems, decompositions and their gradients."""


def cases(tf, np):
    """Yields (name, function that builds tensors)."""
    for group in (_products, _einsum, _diagonals, _systems, _gradients, _decompositions, _norms, _tridiagonal):
        yield from group(tf, np)


def _matrix(np, *shape, **kwargs):
    rng = np.random.RandomState(sum(shape) + kwargs.get("seed", 0))
    return rng.normal(size=shape).astype(kwargs.get("dtype", np.float32))


def _positive(np, n, *batch):
    a = _matrix(np, *(batch + (n, n)), dtype=np.float64)
    return np.matmul(a, np.swapaxes(a, -1, -2)) + n * np.eye(n)


def _products(tf, np):
    a, b = _matrix(np, 2, 3), _matrix(np, 3, 4)
    yield "matmul", lambda: tf.matmul(a, b)
    yield "matmul transpose_a", lambda: tf.matmul(a.T, b, transpose_a=True)
    yield "matmul transpose_b", lambda: tf.matmul(a, b.T, transpose_b=True)
    yield "matmul both", lambda: tf.matmul(a.T, b.T, transpose_a=True, transpose_b=True)
    yield "matmul name", lambda: tf.matmul(a, b, name="product")
    yield "matmul int32", lambda: tf.matmul([[1, 2], [3, 4]], [[5], [6]])
    yield "matmul int64", lambda: tf.matmul(np.array([[1, 2]]), np.array([[5], [6]]))
    yield "matmul float16", lambda: tf.matmul(a.astype(np.float16), b.astype(np.float16))
    yield "matmul complex adjoint", lambda: tf.matmul(a + 1j * a, b.T - 1j * b.T, adjoint_b=True)
    yield "matmul complex adjoint_a", lambda: tf.matmul(a.T + 1j * a.T, b - 1j * b, adjoint_a=True)
    yield "matmul empty", lambda: tf.matmul(np.zeros([2, 0], np.float32), np.zeros([0, 3], np.float32))
    yield "matmul no rows", lambda: tf.matmul(np.zeros([0, 3], np.float32), b)
    yield "matmul batch", lambda: tf.matmul(_matrix(np, 5, 2, 3), _matrix(np, 5, 3, 2))
    yield "matmul batch broadcast", lambda: tf.matmul(_matrix(np, 5, 2, 3), b)
    yield "matmul batch broadcast both", lambda: tf.matmul(_matrix(np, 5, 1, 2, 3), _matrix(np, 4, 3, 2))
    yield "matmul batch transpose_b", lambda: tf.matmul(_matrix(np, 5, 2, 3), _matrix(np, 5, 4, 3), transpose_b=True)
    yield "matmul batch adjoint_a", lambda: tf.matmul(_matrix(np, 5, 3, 2), _matrix(np, 5, 3, 4), adjoint_a=True)
    yield "matmul sparse hint", lambda: tf.matmul(a, b, a_is_sparse=True)
    yield "matmul mixed bfloat16", lambda: tf.matmul(tf.cast(a, tf.bfloat16), b)
    yield "matmul both bfloat16", lambda: tf.matmul(tf.cast(a, tf.bfloat16), tf.cast(b, tf.bfloat16))
    yield "matmul mismatch", lambda: tf.matmul(a, a)
    yield "matmul types differ", lambda: tf.matmul(tf.constant(a, tf.float64), b)
    yield "matmul vector", lambda: tf.matmul(a, [1.0, 2.0, 3.0])
    yield "matmul adjoint and transpose", lambda: tf.matmul(a, b, transpose_a=True, adjoint_a=True)
    yield "matmul unknown rank", lambda: tf.matmul(tf.placeholder_with_default(a, None), b)
    yield "matmul mismatch at run time", lambda: tf.matmul(tf.placeholder_with_default(a, [None, None]), tf.placeholder_with_default(a, [None, None]))
    yield "sparse_matmul", lambda: tf.sparse_matmul(a, b, a_is_sparse=True)
    yield "matvec", lambda: tf.linalg.matvec(a, [1.0, 2.0, 3.0])
    yield "matvec batch", lambda: tf.linalg.matvec(_matrix(np, 5, 2, 3), _matrix(np, 5, 3))
    yield "tensordot 1", lambda: tf.tensordot(a, b, 1)
    yield "tensordot 0", lambda: tf.tensordot(a, b, 0)
    yield "tensordot 2", lambda: tf.tensordot(a, a, 2)
    yield "tensordot axes", lambda: tf.tensordot(_matrix(np, 2, 3, 4), _matrix(np, 4, 3, 5), [[1, 2], [1, 0]])
    yield "tensordot negative axes", lambda: tf.tensordot(_matrix(np, 2, 3, 4), _matrix(np, 4, 3, 5), [[-1], [0]])
    yield "tensordot single axes", lambda: tf.tensordot(_matrix(np, 2, 3, 4), _matrix(np, 4, 3, 5), [2, 0])
    yield "tensordot dynamic", lambda: tf.tensordot(tf.placeholder_with_default(_matrix(np, 2, 3, 4), [None, 3, None]), _matrix(np, 3, 2), [[1], [0]])
    yield "tensordot unknown rank", lambda: tf.tensordot(tf.placeholder_with_default(_matrix(np, 2, 3, 4), None), _matrix(np, 4, 3), [[2], [0]])


def _einsum(tf, np):
    def einsum(equation, *arrays):
        """The result under a name of its own: how many reshapes it takes is left to the implementation."""
        tensors = [tf.convert_to_tensor(array) for array in arrays]
        return tf.identity(tf.einsum(equation, *tensors), name="result")

    a, b, v = _matrix(np, 2, 3), _matrix(np, 3, 4), _matrix(np, 3)
    batch = _matrix(np, 5, 2, 3)
    yield "einsum matmul", lambda: einsum("ij,jk->ik", a, b)
    yield "einsum implicit", lambda: einsum("ij,jk", a, b)
    yield "einsum matvec", lambda: einsum("ij,j->i", a, v)
    yield "einsum dot", lambda: einsum("i,i->", v, v)
    yield "einsum elementwise", lambda: einsum("i,i->i", v, v)
    yield "einsum outer", lambda: einsum("i,j->ij", v, v)
    yield "einsum outer swapped", lambda: einsum("i,j->ji", v, v)
    yield "einsum transpose", lambda: einsum("ij->ji", a)
    yield "einsum sum", lambda: einsum("ij->", a)
    yield "einsum row sums", lambda: einsum("ij->i", a)
    yield "einsum batch", lambda: einsum("bij,bkj->bik", batch, batch)
    yield "einsum batch broadcast", lambda: einsum("bij,jk->bik", batch, b)
    yield "einsum swapped output", lambda: einsum("bij,jk->kbi", batch, b)
    yield "einsum two summed", lambda: einsum("bij,bij->b", batch, batch)
    yield "einsum three", lambda: einsum("ij,jk,kl->il", a, b, b.T)
    yield "einsum ellipsis", lambda: einsum("...ij,jk->...ik", batch, b)
    yield "einsum attention", lambda: einsum("bfnd,btnd->bnft", _matrix(np, 2, 3, 4, 5), _matrix(np, 2, 6, 4, 5))
    yield "einsum dense 3d", lambda: einsum("abc,cde->abde", _matrix(np, 2, 3, 4), _matrix(np, 4, 5, 2))
    yield "einsum dynamic batch", lambda: einsum("bij,jk->bik", tf.placeholder_with_default(batch, [None, 2, 3]), b)
    yield "einsum dynamic all", lambda: einsum("bij,bjk->bik", tf.placeholder_with_default(batch, [None, None, None]), _matrix(np, 5, 3, 2))
    yield "einsum diagonal", lambda: einsum("ii->i", np.eye(3))
    yield "einsum gradients", lambda: _gradient_of(tf, lambda x, y: tf.einsum("bij,jk->kbi", x, y), batch, b)
    yield "einsum three gradients", lambda: _gradient_of(tf, lambda x, y: tf.einsum("ij,jk,jk->i", x, y, y), a, b)


def _gradient_of(tf, function, *arrays):
    """The gradients of a weighted sum of the result: a plain sum would hide transposed and missing factors."""
    tensors = [tf.constant(array) for array in arrays]
    result = function(*tensors)
    results = result if isinstance(result, (list, tuple)) else [result]
    total = 0
    for number, one in enumerate(results):
        flat = tf.reshape(one, [-1])
        weights = tf.sin(tf.cast(tf.range(tf.size(flat)), tf.float64) + 0.5 * number)
        total += tf.reduce_sum(flat * tf.cast(weights, flat.dtype))
    return [tf.identity(gradient, name="gradient") for gradient in tf.gradients(total, tensors) if gradient is not None]


def _diagonals(tf, np):
    m = _matrix(np, 2, 3, 4)
    yield "diag", lambda: tf.diag([1.0, 2.0, 3.0])
    yield "diag of matrix", lambda: tf.diag([[1, 2], [3, 4]])
    yield "diag_part", lambda: tf.diag_part(np.arange(9.0).reshape(3, 3))
    yield "diag_part rank 4", lambda: tf.diag_part(np.arange(36.0).reshape(2, 3, 2, 3))
    yield "diag_part odd", lambda: tf.diag_part(np.zeros([2, 2, 2]))
    yield "matrix_diag", lambda: tf.matrix_diag(_matrix(np, 2, 3))
    yield "matrix_diag_part wide", lambda: tf.matrix_diag_part(m)
    yield "matrix_diag_part tall", lambda: tf.matrix_diag_part(np.swapaxes(m, 1, 2))
    yield "matrix_set_diag", lambda: tf.matrix_set_diag(m, np.zeros([2, 3], np.float32))
    yield "matrix_set_diag wrong", lambda: tf.matrix_set_diag(m, np.zeros([2, 4], np.float32))
    yield "band lower", lambda: tf.matrix_band_part(m, -1, 0)
    yield "band upper", lambda: tf.matrix_band_part(m, 0, -1)
    yield "band narrow", lambda: tf.matrix_band_part(m, 1, 1)
    yield "band all", lambda: tf.matrix_band_part(m, -1, -1)
    yield "band too wide", lambda: tf.matrix_band_part(m, 5, 0)
    yield "band bool", lambda: tf.matrix_band_part(np.ones([3, 3], bool), -1, 0)
    yield "trace", lambda: tf.trace(m)
    yield "eye", lambda: tf.eye(3)
    yield "eye rectangular", lambda: tf.eye(2, 4, dtype=tf.int32)
    yield "eye batch", lambda: tf.eye(2, batch_shape=[3])
    yield "eye batch rectangular", lambda: tf.eye(2, 3, batch_shape=[2, 1])
    yield "eye dynamic", lambda: tf.eye(tf.placeholder_with_default(3, []))
    yield "eye dynamic rectangular", lambda: tf.eye(tf.placeholder_with_default(3, []), 2)
    yield "diagonal gradients", lambda: [
        _gradient_of(tf, tf.diag, _matrix(np, 3)), _gradient_of(tf, tf.diag_part, _matrix(np, 3, 3)),
        _gradient_of(tf, tf.matrix_diag, _matrix(np, 2, 3)), _gradient_of(tf, tf.matrix_diag_part, m),
        _gradient_of(tf, tf.matrix_set_diag, m, _matrix(np, 2, 3)), _gradient_of(tf, lambda x: tf.matrix_band_part(x, 1, 0), m)]


def _systems(tf, np):
    a, rhs = _matrix(np, 3, 3, dtype=np.float64), _matrix(np, 3, 2, dtype=np.float64)
    batch = _matrix(np, 4, 3, 3, dtype=np.float64)
    tall = _matrix(np, 5, 3, dtype=np.float64)
    yield "inverse", lambda: tf.matrix_inverse(a)
    yield "inverse adjoint", lambda: tf.matrix_inverse(a, adjoint=True)
    yield "inverse batch", lambda: tf.matrix_inverse(batch)
    yield "inverse float32", lambda: tf.linalg.inv(_matrix(np, 2, 2))
    yield "inverse singular", lambda: tf.matrix_inverse([[1.0, 2.0], [2.0, 4.0]])
    yield "inverse not square", lambda: tf.matrix_inverse(rhs)
    yield "inverse empty", lambda: tf.matrix_inverse(np.zeros([0, 0], np.float32))
    yield "determinant", lambda: tf.matrix_determinant(a)
    yield "determinant batch", lambda: tf.matrix_determinant(batch)
    yield "determinant singular", lambda: tf.matrix_determinant([[1.0, 2.0], [2.0, 4.0]])
    yield "slogdet", lambda: tf.linalg.slogdet(batch)
    yield "logdet", lambda: tf.linalg.logdet(_positive(np, 3))
    yield "cholesky", lambda: tf.cholesky(_positive(np, 3))
    yield "cholesky batch", lambda: tf.cholesky(_positive(np, 3, 2))
    yield "cholesky bad", lambda: tf.cholesky(-np.eye(3))
    yield "cholesky_solve", lambda: tf.cholesky_solve(np.linalg.cholesky(_positive(np, 3)), rhs)
    yield "solve", lambda: tf.matrix_solve(a, rhs)
    yield "solve adjoint", lambda: tf.matrix_solve(a, rhs, adjoint=True)
    yield "solve singular", lambda: tf.matrix_solve(np.zeros([3, 3]), rhs)
    yield "triangular", lambda: tf.matrix_triangular_solve(a, rhs)
    yield "triangular upper", lambda: tf.matrix_triangular_solve(a, rhs, lower=False)
    yield "triangular adjoint", lambda: tf.matrix_triangular_solve(a, rhs, adjoint=True)
    yield "triangular batch", lambda: tf.matrix_triangular_solve(batch, _matrix(np, 4, 3, 2, dtype=np.float64), lower=False, adjoint=True)
    yield "triangular singular", lambda: tf.matrix_triangular_solve(np.zeros([3, 3]), rhs)
    yield "least squares", lambda: tf.matrix_solve_ls(tall, _matrix(np, 5, 2, dtype=np.float64))
    yield "least squares ridge", lambda: tf.matrix_solve_ls(tall, _matrix(np, 5, 2, dtype=np.float64), 0.5)
    yield "least squares wide", lambda: tf.matrix_solve_ls(tall.T, rhs)
    yield "least squares slow", lambda: tf.matrix_solve_ls(tall, _matrix(np, 5, 2, dtype=np.float64), fast=False)
    yield "least squares slow wide", lambda: tf.linalg.lstsq(tall.T, rhs, fast=False)
    yield "expm", lambda: tf.identity(tf.linalg.expm(batch), name="result")
    yield "sqrtm", lambda: tf.linalg.sqrtm(_positive(np, 3))
    yield "logm", lambda: tf.linalg.logm(_positive(np, 3) + 0j)
    yield "adjoint", lambda: tf.linalg.adjoint(np.array([[1 + 2j, 3], [4, 5 - 1j]]))
    yield "pinv", lambda: tf.linalg.pinv(tall)
    yield "matrix_rank", lambda: tf.linalg.matrix_rank(np.array([[1.0, 2.0], [2.0, 4.0], [0.0, 0.0]]))
    yield "lu", lambda: tf.linalg.lu(batch)


def _gradients(tf, np):
    a, rhs = _matrix(np, 3, 3, dtype=np.float64), _matrix(np, 3, 2, dtype=np.float64)
    batch = _matrix(np, 2, 3, 3, dtype=np.float64)
    tall, tall_rhs = _matrix(np, 5, 3, dtype=np.float64), _matrix(np, 5, 2, dtype=np.float64)
    spd = _positive(np, 3)
    yield "matmul gradients", lambda: [
        _gradient_of(tf, lambda x, y: tf.matmul(x, y, transpose_a=p, transpose_b=q), a, a + 1) for p in (False, True) for q in (False, True)]
    yield "matmul batch gradients", lambda: [
        _gradient_of(tf, lambda x, y: tf.matmul(x, y, adjoint_a=p, adjoint_b=q), batch, batch + 1) for p in (False, True) for q in (False, True)]
    yield "matmul broadcast gradients", lambda: _gradient_of(tf, tf.matmul, batch, a)
    yield "matmul complex gradient", lambda: _gradient_of(tf, tf.matmul, a + 1j * a, rhs - 1j)
    yield "tensordot gradients", lambda: _gradient_of(tf, lambda x, y: tf.tensordot(x, y, [[1], [0]]), batch, rhs)
    yield "inverse gradient", lambda: _gradient_of(tf, tf.matrix_inverse, batch)
    yield "determinant gradient", lambda: _gradient_of(tf, tf.matrix_determinant, batch)
    yield "slogdet gradient", lambda: _gradient_of(tf, lambda x: tf.linalg.slogdet(x)[1], batch)
    yield "cholesky gradient", lambda: _gradient_of(tf, tf.cholesky, spd)
    yield "cholesky batch gradient", lambda: _gradient_of(tf, tf.cholesky, _positive(np, 3, 2))
    yield "solve gradients", lambda: [_gradient_of(tf, lambda x, y: tf.matrix_solve(x, y, adjoint=p), a, rhs) for p in (False, True)]
    yield "triangular gradients", lambda: [
        _gradient_of(tf, lambda x, y: tf.matrix_triangular_solve(x, y, lower=p, adjoint=q), a, rhs) for p in (False, True) for q in (False, True)]
    yield "least squares gradients", lambda: _gradient_of(tf, lambda x, y: tf.matrix_solve_ls(x, y, 0.3), tall, tall_rhs)
    yield "least squares wide gradients", lambda: _gradient_of(tf, lambda x, y: tf.matrix_solve_ls(x, y, 0.3), tall.T, rhs)
    yield "svd values gradient", lambda: _gradient_of(tf, lambda x: tf.svd(x, compute_uv=False), tall)
    yield "svd gradient", lambda: _gradient_of(tf, lambda x: _rebuilt(tf, x), tall)
    yield "svd wide gradient", lambda: _gradient_of(tf, lambda x: _rebuilt(tf, x), tall.T)
    yield "eig values gradient", lambda: _gradient_of(tf, lambda x: tf.self_adjoint_eigvals(x), spd)
    yield "eig gradient", lambda: _gradient_of(tf, lambda x: _eig_function(tf, x), spd)
    yield "qr gradient", lambda: _gradient_of(tf, tf.qr, tall)
    yield "sqrtm gradient", lambda: _gradient_of(tf, tf.linalg.sqrtm, spd)
    yield "expm gradient", lambda: _gradient_of(tf, tf.linalg.expm, a)
    yield "norm gradient", lambda: _gradient_of(tf, lambda x: tf.norm(x, axis=1), a)


def _rebuilt(tf, x):
    """A function of the factors that does not depend on their signs."""
    s, u, v = tf.svd(x)
    return tf.matmul(u * tf.expand_dims(tf.exp(-s), -2), v, transpose_b=True)


def _eig_function(tf, x):
    e, v = tf.self_adjoint_eig(x)
    return tf.matmul(v * tf.expand_dims(tf.sqrt(e), -2), v, transpose_b=True)


def _decompositions(tf, np):
    tall, batch = _matrix(np, 5, 3, dtype=np.float64), _matrix(np, 2, 3, 3, dtype=np.float64)
    yield "svd values", lambda: tf.svd(tall, compute_uv=False)
    yield "svd rebuilt", lambda: _rebuilt(tf, tall)
    yield "svd shapes", lambda: [tf.shape(part) for part in tf.svd(tall, full_matrices=True)]
    yield "svd batch", lambda: tf.svd(batch)[0]
    yield "svd complex values", lambda: tf.svd(tall + 1j, compute_uv=False)
    yield "eig values", lambda: tf.self_adjoint_eig(_positive(np, 3))[0]
    yield "eig rebuilt", lambda: _eig_function(tf, _positive(np, 3, 2))
    yield "eig complex", lambda: tf.self_adjoint_eig(_positive(np, 3) + 0j)[0]
    yield "eigvals", lambda: tf.self_adjoint_eigvals(_positive(np, 3))
    yield "eig lower triangle alone", lambda: tf.self_adjoint_eigvals(tall[:3])
    yield "qr", lambda: tf.qr(tall)
    yield "qr wide", lambda: tf.qr(tall.T)
    yield "qr full", lambda: tf.qr(tall, full_matrices=True)[1]
    yield "qr batch", lambda: tf.linalg.qr(batch)


def _norms(tf, np):
    m = _matrix(np, 2, 3, 4)
    for order in ("euclidean", 1, 2, 3, np.inf, 0.5):
        yield "norm of all %s" % order, lambda order=order: tf.norm(m, ord=order)
        yield "norm along 1 %s" % order, lambda order=order: tf.norm(m, ord=order, axis=1)
        yield "norm kept %s" % order, lambda order=order: tf.norm(m, ord=order, axis=-1, keepdims=True)
    for order in ("euclidean", "fro", 1, 2, np.inf):
        yield "matrix norm %s" % order, lambda order=order: tf.norm(m, ord=order, axis=[-2, -1])
        yield "matrix norm kept %s" % order, lambda order=order: tf.norm(m, ord=order, axis=(0, 2), keepdims=True)
    yield "norm complex", lambda: tf.norm(np.array([3 + 4j, 1j]))
    yield "norm bad order", lambda: tf.norm(m, ord=-1)
    yield "norm bad axis", lambda: tf.norm(m, axis=[0, 1, 2])
    yield "cross", lambda: tf.cross(_matrix(np, 2, 3), _matrix(np, 2, 3, seed=1))


def _tridiagonal(tf, np):
    rows = _matrix(np, 2, 3, 4) + np.float32([[0], [5], [0]])
    right = _matrix(np, 2, 4, 3)
    matrix = np.float32([[4, 1, 0], [1, 5, 2], [0, 1, 3]])
    solve = tf.linalg.tridiagonal_solve

    def gradients(function):
        def build():
            d, b = tf.constant(rows), tf.constant(right)
            x = function(d, b)
            found = [tf.identity(each, name="gradient") for each in tf.gradients(tf.reduce_sum(x * x), [d, b])]
            return found + [tf.identity(x, name="result")]
        return build

    def build(make):
        return lambda: tf.identity(make(tf.constant), name="result")

    yield "tridiagonal solve", gradients(solve)
    yield "tridiagonal product", gradients(tf.linalg.tridiagonal_matmul)
    yield "tridiagonal solve pivots", build(lambda c: solve(c(rows - np.float32([[0], [5], [0]])), c(right)))
    yield "tridiagonal solve without pivots", build(lambda c: solve(c(rows), c(right), partial_pivoting=False))
    yield "tridiagonal solve vector", build(lambda c: solve(c(rows), c(right[..., 0])))
    yield "tridiagonal solve sequence", build(lambda c: solve([c(row) for row in np.swapaxes(rows, 0, 1)], c(right), diagonals_format="sequence"))
    yield "tridiagonal solve matrix", build(lambda c: solve(c(matrix), c(right[0, :3]), diagonals_format="matrix"))
    yield "tridiagonal solve transposed", build(lambda c: solve(c(rows[:, :, :3]), c(right[:, :3].swapaxes(1, 2)), transpose_rhs=True))
    yield "tridiagonal solve singular", build(lambda c: solve(c(np.zeros([3, 2])), c(np.ones([2, 1]))))
    yield "tridiagonal bad format", build(lambda c: solve(c(rows), c(right), diagonals_format="rows"))
