"""The program of a board: what the page shows is what the board runs, and what a person can copy and run without it.

Its module level builds the graph. A board takes the names of ``ProgramNames`` from there and trains by itself; run as a program, it trains in the
loop at its end, with the same batches in the same order.
"""
from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from penstock.playground.settings import ACTIVATIONS, FEATURES, OPTIMIZERS, POINTS, PROBLEMS, REGULARIZATIONS, Settings

FILE = "playground.py"  # the name of the program in tracebacks
_STEPS = 2000  # of a program that runs by itself

HEAD = '''\
"""The board "{data}" of `penstock playground`, as {use}."""
import numpy as np
import penstock as tf

SEED, NOISE, TRAINING_SHARE, BATCH = {seed}, {noise}, {share}, {batch}


'''
DATA = '''

# --- the data: all points, and which of them train -------------------------------------------------------------------

rng = np.random.RandomState(SEED)
points, labels = {data}(rng, {count}, NOISE)
labels = labels.reshape(-1, 1)
order = rng.permutation(len(points))
train_set, test_set = np.split(order, [int(TRAINING_SHARE * len(points))])


def batches(size):
    """Indices of training points, in a new order in each epoch, without an end."""
    while True:
        shuffled = rng.permutation(train_set)
        yield from np.split(shuffled, range(size, len(shuffled), size))
'''
_INPUTS = '''
# --- the network -----------------------------------------------------------------------------------------------------

tf.set_random_seed(SEED)
position = tf.placeholder(tf.float32, [None, 2], name="position")
target = tf.placeholder(tf.float32, [None, 1], name="target")

with tf.name_scope("features"):
    x, y = position[:, :1], position[:, 1:]
    inputs = tf.concat([{features}], axis=1)
'''
_LAYER = '''
with tf.variable_scope("{scope}"):
    w{number} = tf.get_variable("weights", [{inputs}, {outputs}])
    b{number} = tf.get_variable("biases", [{outputs}], initializer=tf.constant_initializer(0.1))
    {name} = {value}
'''
_TRAINING = '''
weights = [{weights}]
biases = [{biases}]
neurons = [{neurons}]

# --- training --------------------------------------------------------------------------------------------------------

learning_rate = tf.placeholder_with_default({learning_rate!r}, [], name="learning_rate")
with tf.name_scope("loss"):
    loss = 0.5 * tf.reduce_mean(tf.square(output - target))
'''
_REGULARIZED = '''
regularization_rate = tf.placeholder_with_default({rate!r}, [], name="regularization_rate")
with tf.name_scope("regularization"):
    objective = loss + regularization_rate * tf.add_n([{penalty} for w in weights])
'''
_LOOP = '''train = {optimizer}.minimize({objective}, name="train")

if __name__ == "__main__":
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step, batch in zip(range({steps} + 1), batches(BATCH)):
            if step % 200 == 0:
                losses = [session.run(loss, {{position: points[part], target: labels[part]}}) for part in (train_set, test_set)]
                print("step {{:5d}}  training loss {{:.4f}}  test loss {{:.4f}}".format(step, *losses))
            session.run(train, {{position: points[batch], target: labels[batch]}})
'''


def write_program(settings: Settings) -> str:
    """The text of the program."""
    function = PROBLEMS[settings.problem][settings.data]
    model, objective = model_parts(settings)
    head = HEAD.format(data=settings.data, use=f"a program of its own: python {FILE}", seed=settings.seed, noise=settings.noise / 100,
                       share=settings.share / 100, batch=settings.batch)
    return "".join([head, inspect.getsource(function), DATA.format(data=settings.data, count=POINTS), "\n", model,
                    _LOOP.format(optimizer=OPTIMIZERS[settings.optimizer], objective=objective, steps=_STEPS)])


def model_parts(settings: Settings) -> tuple[str, str]:
    """The text that builds the network and its loss, and the name of what is minimized."""
    names = [_hidden(number) for number in range(1, len(settings.layers) + 1)] + ["output"]
    numbers = range(1, len(names) + 1)
    parts = [_INPUTS.format(features=", ".join(FEATURES[name] for name in settings.features)), *_layers(settings),
             _TRAINING.format(weights=", ".join(f"w{number}" for number in numbers), biases=", ".join(f"b{number}" for number in numbers),
                              neurons=", ".join(names), learning_rate=float(settings.learning_rate))]
    if not (penalty := REGULARIZATIONS[settings.regularization]):
        return "".join(parts), "loss"
    return "".join([*parts, _REGULARIZED.format(rate=float(settings.regularization_rate), penalty=penalty)]), "objective"


def _hidden(number: int) -> str:
    return f"hidden_{number}"


def _layers(settings: Settings) -> Iterator[str]:
    before, width = "inputs", len(settings.features)
    for number, neurons in enumerate(settings.layers, 1):
        name = _hidden(number)
        yield _LAYER.format(scope=f"layer_{number}", number=number, inputs=width, outputs=neurons, name=name,
                            value=_applications(ACTIVATIONS[settings.activation], f"tf.matmul({before}, w{number}) + b{number}"))
        before, width = name, neurons
    last = len(settings.layers) + 1
    final = "tf.tanh" if settings.problem == "classification" else ""
    yield _LAYER.format(scope="output", number=last, inputs=width, outputs=1, name="output",
                        value=_applications(final, f"tf.matmul({before}, w{last}) + b{last}"))


def _applications(function: str, argument: str) -> str:
    return f"{function}({argument})" if function else argument


@dataclass(frozen=True)
class ProgramNames:
    """What a board takes from the module of its program: arrays, tensors, variables, the operation that trains."""

    points: Any
    labels: Any
    train_set: Any
    test_set: Any
    batches: Any
    position: Any
    target: Any
    inputs: Any
    weights: Any
    biases: Any
    neurons: Any
    learning_rate: Any
    regularization_rate: Any  # None without regularisation
    loss: Any
    train: Any


def build(text: str) -> ProgramNames:
    """Builds the graph of a program as the default graph."""
    namespace: dict[str, Any] = {"__name__": "playground"}
    exec(compile(text, FILE, "exec"), namespace)
    return ProgramNames(**{name: namespace.get(name) for name in ProgramNames.__dataclass_fields__})
