"""The loop of `tf.contrib.slim.learning`, with an operation that updates masks after each step."""
from __future__ import annotations

import functools
import inspect
from typing import Any

from penstock.contrib.slim import learning


def train(train_op: Any, logdir: str | None, mask_update_op: Any, train_step_fn: Any = learning.train_step, *others: Any, **options: Any) -> Any:
    """``tf.contrib.slim.learning.train``, whose options it has; ``mask_update_op`` runs after each step. Returns the last loss."""
    @functools.wraps(train_step_fn)
    def step_and_masks(sess: Any, *args: Any, **kwargs: Any) -> Any:
        result = train_step_fn(sess, *args, **kwargs)
        sess.run(mask_update_op)
        return result

    return learning.train(train_op, logdir, step_and_masks, *others, **options)


def _signature() -> inspect.Signature:
    """The signature of slim's loop, with the operation."""
    parameters = {name: each for name, each in inspect.signature(learning.train).parameters.items()
                  if name not in ("session_wrapper", "ignore_live_threads")}
    mask_update_op = inspect.Parameter("mask_update_op", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    first, second, *others = parameters.values()
    return inspect.Signature([first, second, mask_update_op, *others])


train.__signature__ = _signature()  # type: ignore[attr-defined]
