"""The models in JAX; every step is one jitted function, whose parameters are donated."""
from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax import lax

from models import architectures as sizes
from models import data, jax_convnets
from models.architectures import RATE, Step


def trained(loss, parameters, update, state, arrays):
    """A Step that minimizes ``loss(parameters, *arrays)``; ``update(parameters, gradients, state)`` gives new parameters and state."""
    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def step(parameters, state, *inputs):
        value, gradients = jax.value_and_grad(loss)(parameters, *inputs)
        return value, *update(parameters, gradients, state)

    held = [parameters, state]
    count = sum(leaf.size for leaf in jax.tree.leaves(parameters))

    def run():
        value, *held[:] = step(*held, *arrays)
        jax.block_until_ready(held)
        return float(value)
    return Step(run, count)


def sgd(parameters, gradients, state):
    """Plain gradient descent."""
    return jax.tree.map(lambda p, g: p - RATE * g, parameters, gradients), state


def clipped_sgd(parameters, gradients, state):
    """Gradient descent with a gradient of norm 5 or less."""
    norm = jnp.sqrt(sum(jnp.sum(leaf * leaf) for leaf in jax.tree.leaves(gradients)))
    scale = 5.0 / jnp.maximum(norm, 5.0)
    return sgd(parameters, jax.tree.map(lambda g: g * scale, gradients), state)


def adagrad(parameters, gradients, state):
    """The state is the sum of the squares."""
    state = jax.tree.map(lambda s, g: s + g * g, state, gradients)
    return jax.tree.map(lambda p, g, s: p - RATE * g * lax.rsqrt(s), parameters, gradients, state), state


def adam(parameters, gradients, state):
    """The state is (steps, means, means of the squares)."""
    count, mean, square = state
    count = count + 1
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradients)
    square = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, square, gradients)
    rate = RATE * jnp.sqrt(1 - 0.999 ** count) / (1 - 0.9 ** count)
    return jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), parameters, mean, square), (count, mean, square)


def adam_state(parameters):
    """The state before the first step."""
    return jnp.zeros(()), jax.tree.map(jnp.zeros_like, parameters), jax.tree.map(jnp.zeros_like, parameters)


def cross_entropy(logits, labels):
    """The mean over all labels."""
    return jnp.mean(jax.nn.logsumexp(logits, -1) - jnp.take_along_axis(logits, labels[:, None], 1)[:, 0])


def linear(inputs, outputs):
    """Weights and bias."""
    return jnp.asarray(data.normal(inputs, outputs) * 0.05), jnp.zeros(outputs)


def dense(parameters, x):
    """x @ weights + bias."""
    return x @ parameters[0] + parameters[1]


def softmax():
    """Softmax regression."""
    parameters = linear(784, 10)
    state = jax.tree.map(lambda leaf: jnp.full_like(leaf, 0.1), parameters)
    return trained(lambda p, x, y: cross_entropy(dense(p, x), y), parameters, adagrad, state, data.digits(10))


def mlp():
    """Two hidden layers."""
    parameters = [linear(before, after) for before, after in zip(sizes.MLP, sizes.MLP[1:])]

    def loss(parameters, x, y):
        for layer in parameters[:-1]:
            x = jax.nn.relu(dense(layer, x))
        return cross_entropy(dense(parameters[-1], x), y)
    return trained(loss, parameters, adam, adam_state(parameters), data.digits(128))


def lstm():
    """A language model of unrolled LSTM cells; the norm of the gradient is clipped."""
    units, count = sizes.LSTM_UNITS, sizes.LSTM_LAYERS
    parameters = jnp.asarray(data.normal(sizes.LSTM_WORDS, units) * 0.1), [linear(2 * units, 4 * units) for _ in range(count)], linear(
        units, sizes.LSTM_WORDS)

    def loss(parameters, x, y):
        table, layers, out = parameters
        inputs = [table[x[:, step]] for step in range(sizes.LSTM_STEPS)]
        for layer in layers:
            state = output = jnp.zeros((sizes.LSTM_BATCH, units))
            outputs = []
            for value in inputs:
                enter, new, forget, leave = jnp.split(dense(layer, jnp.concatenate([value, output], 1)), 4, 1)
                state = jax.nn.sigmoid(forget + 1.0) * state + jax.nn.sigmoid(enter) * jnp.tanh(new)
                output = jax.nn.sigmoid(leave) * jnp.tanh(state)
                outputs.append(output)
            inputs = outputs
        return cross_entropy(dense(out, jnp.stack(inputs, 1).reshape(-1, units)), y.reshape(-1))
    return trained(loss, parameters, clipped_sgd, (), data.words(sizes.LSTM_BATCH, sizes.LSTM_STEPS, sizes.LSTM_WORDS))


def layer_norm(parameters, x):
    """Normalizes the last axis."""
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * parameters[0] + parameters[1]


def attention(parameters, x):
    """Masked self-attention over [sentences * LENGTH, WIDTH]."""
    depth = sizes.WIDTH // sizes.HEADS
    split = dense(parameters["qkv"], x).reshape(sizes.SENTENCES, sizes.LENGTH, 3, sizes.HEADS, depth)
    query, key, value = split.transpose(2, 0, 3, 1, 4)
    mask = jnp.tril(jnp.ones((sizes.LENGTH, sizes.LENGTH)))
    scores = jnp.einsum("bhqd,bhkd->bhqk", query, key) * depth ** -0.5 + (mask - 1.0) * 1e9
    mixed = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), value).transpose(0, 2, 1, 3)
    return dense(parameters["out"], mixed.reshape(-1, sizes.WIDTH))


def transformer():
    """A decoder-only language model."""
    wide = sizes.WIDTH

    def norm():
        return jnp.ones(wide), jnp.zeros(wide)
    blocks = [{"before": norm(), "between": norm(), "qkv": linear(wide, 3 * wide), "out": linear(wide, wide), "wide": linear(wide, 4 * wide),
               "narrow": linear(4 * wide, wide)} for _ in range(sizes.BLOCKS)]
    parameters = {"embedding": jnp.asarray(data.normal(sizes.WORDS, wide) * 0.05), "places": jnp.zeros((sizes.LENGTH, wide)), "blocks": blocks,
                  "last": norm(), "out": linear(wide, sizes.WORDS)}

    def loss(parameters, x, y):
        hidden = (parameters["embedding"][x] + parameters["places"]).reshape(-1, wide)
        for block in parameters["blocks"]:
            hidden = hidden + attention(block, layer_norm(block["before"], hidden))
            hidden = hidden + dense(block["narrow"], jax.nn.relu(dense(block["wide"], layer_norm(block["between"], hidden))))
        return cross_entropy(dense(parameters["out"], layer_norm(parameters["last"], hidden)), y.reshape(-1))
    return trained(loss, parameters, adam, adam_state(parameters), data.words(sizes.SENTENCES, sizes.LENGTH, sizes.WORDS))


def elementwise():
    """A chain over large arrays, with the gradients of all three."""
    arrays = [jnp.asarray(data.normal(sizes.CHAIN_ELEMENTS, seed=seed)) for seed in range(3)]

    def total(a, b, c):
        return (jnp.tanh(a * b + c) * jax.nn.sigmoid(a) - jnp.exp(-b * b)).sum()
    function = jax.jit(jax.value_and_grad(total, (0, 1, 2)))
    return Step(lambda: jax.block_until_ready(function(*arrays)), 3 * sizes.CHAIN_ELEMENTS)


def dependent():
    """Many small ops, each of which needs the one before it."""
    def chain(x):
        for index in range(sizes.CHAIN_OPS):
            x = jnp.tanh(x) if index % 2 else x * 1.25
        return x
    array = data.normal(16)

    @jax.jit
    def function(x):
        value, back = jax.vjp(chain, x)
        return value, back(jnp.ones(16))[0]
    return Step(lambda: jax.block_until_ready(function(array)))


def embedding():
    """A few rows of a large table get their gradients."""
    @functools.partial(jax.jit, donate_argnums=0)
    def step(table, ids):
        rows = table[ids]
        loss, gradient = jax.value_and_grad(lambda rows: jnp.sum(jnp.square(rows)))(rows)
        return table.at[ids].add(-RATE * gradient), loss
    held, array = [jnp.full((sizes.ROWS, sizes.COLUMNS), 0.05)], data.ids()

    def run():
        held[0], loss = step(held[0], array)
        held[0].block_until_ready()
        return float(loss)
    return Step(run, sizes.ROWS * sizes.COLUMNS)


def null():
    """A scalar in, a sum out."""
    function = jax.jit(lambda x: x + 1.0)
    return Step(lambda: float(function(2.0)))


def matmul():
    """One large matrix product."""
    a, b = (jnp.asarray(data.normal(sizes.MATMUL, sizes.MATMUL, seed=seed)) for seed in range(2))
    function = jax.jit(lambda a, b: a @ b)
    return Step(lambda: function(a, b).block_until_ready(), 2 * sizes.MATMUL ** 2)


def _loop(w, x):
    return lax.scan(lambda value, _: (jnp.tanh(value @ w), None), x, length=sizes.LOOP_TURNS)[0].sum()


def _looped(function):
    w, x = jnp.asarray(data.normal(sizes.LOOP_SIZE, sizes.LOOP_SIZE, seed=1) * 0.2), data.normal(sizes.LOOP_SIZE, sizes.LOOP_SIZE)
    jitted = jax.jit(function)
    return Step(lambda: jax.block_until_ready(jitted(w, x)), w.size)


def loop():
    """A loop of matrix products."""
    return _looped(_loop)


def loop_gradient():
    """The same with its gradient."""
    return _looped(jax.value_and_grad(_loop))


MODELS = {function.__name__: function for function in (
    softmax, mlp, lstm, transformer, elementwise, dependent, embedding, null, matmul, loop, loop_gradient)}


def make(case, variant):
    """The step of a case."""
    if case in MODELS:
        return MODELS[case]()
    return jax_convnets.make(case, functools.partial(trained, update=sgd, state=()), cross_entropy)
