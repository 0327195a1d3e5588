"""Operations of your own.

An operation is a Python class under the ``@op`` decorator: a signature, a shape function, a kernel in NumPy, and how it is differentiated.
It goes through the same door as Penstock's own operations and is in nothing less than they are: it is placed, pruned, differentiated,
exported in GraphDefs and run on clusters (whose tasks must import the module that defines it).

>>> import numpy as np
>>> import penstock as tf
>>> from penstock import op
>>> from penstock.ops.custom import FLOATS, like

A first one: ``x * x``, whose gradient is again built from operations. ``T=FLOATS`` says which types it takes; ``like`` is a shape function.

>>> @op("MySquare", "x: T -> y: T", T=FLOATS)
... class my_square:
...     "x * x, elementwise."
...     elementwise = True
...     shape = like("x")
...     def kernel(x):
...         return x * x
...     def gradient(op, dy):
...         return 2.0 * dy * op.inputs[0]

Calling it adds a node; the name of the class is now the function.

>>> with tf.Graph().as_default(), tf.Session() as sess:
...     x = tf.constant([1.0, 2.0, 3.0])
...     y = my_square(x)
...     print(y.name, sess.run(y), sess.run(tf.gradients(y, x)[0]))
MySquare:0 [1. 4. 9.] [2. 4. 6.]

Attributes are values that are fixed when the graph is built: a plain default declares one, and functions of the class ask for it by its name.
A shape function gets the input Tensors and returns what is known of the shape. A value that does not fit is reported with
``invalid_argument``; the user then sees InvalidArgumentError with the name of the operation and the line that made it.

>>> from penstock.ops.custom import invalid_argument
>>> @op("MyEvery", "values: T -> taken: T", T=FLOATS, step=2)
... class my_every:
...     "Every step-th element of a vector."
...     def shape(values, step):
...         length = values.shape.with_rank(1)[0].value
...         return [None if length is None else -(-length // step)]
...     def kernel(values, step):
...         if step < 1:
...             raise invalid_argument(f"step must be positive, not {step}")
...         return values[::step]
...     gradient = None
>>> with tf.Graph().as_default(), tf.Session() as sess:
...     taken = my_every(tf.constant([1.0, 2.0, 3.0, 4.0, 5.0]), step=3)
...     print(taken.shape, sess.run(taken))
(2,) [1. 4.]

A kernel never writes to its inputs and returns arrays of exactly the declared type and shape. One that waits or calls slow Python code says
``blocking = True``; one with effects or a memory says ``stateful = True`` and finds that memory, which lives as long as the session, in
``ctx.state`` (``def kernel(x, ctx)``: inputs first, then ``ctx`` and attributes). An elementwise operation may add ``lower(b, x)``, which
builds the same computation from the vocabulary of ``penstock.graph.lowering`` and lets the compiler fuse it. The whole contract is at the
head of ``penstock.graph.opdef``.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import invalid_argument, unimplemented
from penstock.graph import opdef
from penstock.graph.attrs import INTS, STRING, TYPE, count, one_of, type_list, types
from penstock.ops.common import ANY, FLOATS, INEXACT, INTEGERS, NUMERIC, REAL, broadcasting, fixed, like, unknown

__all__ = ["ANY", "FLOATS", "INEXACT", "INTEGERS", "INTS", "NUMERIC", "REAL", "STRING", "TYPE", "broadcasting", "count", "fixed",
           "invalid_argument", "like", "one_of", "op", "type_list", "types", "unimplemented", "unknown"]


def op(op_type: str, signature: str, **declared: Any) -> Callable[[type], opdef.OpDef]:
    """``@op("MySquare", "x: T -> y: T", T=FLOATS)`` over a class registers an op type of your own. See the head of this module."""
    if op_type in opdef.REGISTRY:  # also if it is one of Penstock's that nothing has asked for yet
        raise ValueError(f"op type {op_type} is registered already, in {opdef.REGISTRY[op_type].__module__}")
    return opdef.op(op_type, signature, **declared)
