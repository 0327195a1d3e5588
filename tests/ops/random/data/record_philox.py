"""Records philox.npz from real TensorFlow: what its random ops return, run after run, in one session.

Run it with Python 3.7 and TensorFlow 1.15 on a CPU:  python record_philox.py
The runs of a case (a key `op:dtype`) differ in size, and together they are two entries:
    case:values   all outputs of a run, or about 64 evenly spaced ones of a large one (16-bit floats as uint16)
    case:digests  by run: SHA-256 of the bytes where results must agree bit for bit, else sum and sum of squares
"""

import hashlib
import os
from functools import partial

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

SEEDS = {"seed": 123, "seed2": 456}
STATELESS_SEED = [7, -9]
SIZES = [5, 0, 1, 3, 1023, 100003, 5]
# Few samples of few rows: TensorFlow spreads larger batches over threads, and then its samples depend on their number.
SMALL_SIZES = [5, 0, 1, 3, 17, 5]
ALPHA = [[0.3, 1.0], [1.5, 20.0]]
RATE = [[0.5, 9.5], [10.0, 200.0]]
LOGITS = [[0.1, -np.inf, 2, 1, -3], [0, 0, 0, 0, 0], [-2, np.nan, 3, 1, 1], [np.inf, 1, 2, 3, 4]]

FLOATS = [tf.float16, tf.float32, tf.float64]
INTS = [tf.int32, tf.int64]
ops = tf.raw_ops


def cases():
    """(name, dtype, function of the size that builds the op, whether results must agree bit for bit, sizes)"""
    for dtype in FLOATS + [tf.bfloat16]:
        yield "uniform", dtype, partial(plain, ops.RandomUniform, dtype), True, SIZES
        yield "normal", dtype, partial(plain, ops.RandomStandardNormal, dtype), False, SIZES
        yield "truncated_normal", dtype, partial(plain, ops.TruncatedNormal, dtype), False, SIZES
    for dtype in INTS:
        yield "uniform_int", dtype, partial(uniform_int, -3, 100, dtype), True, SIZES
        yield "uniform_wide_int", dtype, partial(uniform_int, dtype.min, dtype.max, dtype), True, SIZES
    for dtype in FLOATS:
        yield "gamma", dtype, partial(gamma, dtype), False, SIZES
        yield "multinomial", dtype, partial(multinomial, LOGITS, dtype), True, SMALL_SIZES
        yield "multinomial_row", dtype, partial(multinomial, LOGITS[:1], dtype), True, SIZES
    for dtype in FLOATS + INTS:
        yield "poisson", dtype, partial(poisson, dtype), True, SIZES
    yield "shuffle", tf.int32, shuffle, True, SIZES
    yield "stateless_uniform", tf.float32, stateless_uniform, True, SIZES


def plain(op, dtype, n):
    return op(shape=[n], dtype=dtype, **SEEDS)


def uniform_int(lo, hi, dtype, n):
    return ops.RandomUniformInt(shape=[n], minval=tf.constant(lo, dtype), maxval=tf.constant(hi, dtype), **SEEDS)


def gamma(dtype, n):
    return ops.RandomGamma(shape=[n], alpha=tf.constant(ALPHA, dtype), **SEEDS)


def poisson(dtype, n, rate=RATE):
    return ops.RandomPoissonV2(shape=[n], rate=tf.constant(rate, tf.float64), dtype=dtype, **SEEDS)


def multinomial(logits, dtype, n):
    return ops.Multinomial(logits=tf.constant(logits, dtype), num_samples=n, **SEEDS)


def shuffle(n):
    return ops.RandomShuffle(value=tf.range(n), **SEEDS)


def stateless_uniform(n):
    return ops.StatelessRandomUniform(shape=[n], seed=STATELESS_SEED, dtype=tf.float32)


def run(build, sizes):
    """The outputs of consecutive runs of one op."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        size = tf.compat.v1.placeholder(tf.int32, [])
        output = build(size)
        return [session.run(output, {size: n}) for n in sizes]


def excerpt(value):
    flat = value.reshape(-1)
    some = flat[:: max(1, flat.size // 64)]
    return some.view(np.uint16) if some.dtype.itemsize == 2 else some


def digest(value, exact):
    if exact:
        return np.frombuffer(hashlib.sha256(value.tobytes()).digest(), np.uint8)
    wide = value.astype(np.float64)
    return np.array([wide.sum(), (wide * wide).sum()])


def main():
    entries = {"sizes": SIZES, "small_sizes": SMALL_SIZES, "alpha": ALPHA, "rate": RATE, "logits": LOGITS}
    entries.update(seeds=[SEEDS["seed"], SEEDS["seed2"]], stateless_seed=STATELESS_SEED)
    for name, dtype, build, exact, sizes in cases():
        outputs = run(build, sizes)
        case = f"{name}:{dtype.name}"
        entries[case + ":values"] = np.concatenate([excerpt(value) for value in outputs])
        entries[case + ":digests"] = np.stack([digest(value, exact) for value in outputs])
    # The rate is the largest float16: half of the counts are too large, and TensorFlow draws these again.
    entries["poisson_redrawn"] = run(partial(poisson, tf.float16, rate=[65504.0]), [300])[0].view(np.uint16)
    np.savez_compressed(os.path.join(os.path.dirname(os.path.abspath(__file__)), "philox.npz"), **entries)


if __name__ == "__main__":
    main()
