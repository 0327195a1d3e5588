"""``tf.train.basic_train_loop``: a training loop over a Supervisor."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock import errors
from penstock.train.supervisor import Supervisor


def basic_train_loop(supervisor: Supervisor, train_step_fn: Callable[..., Any], args: Any = None, kwargs: Any = None, master: str = "") -> None:
    """Calls ``train_step_fn(session, *args, **kwargs)`` until the supervisor is asked to stop; again in a new session if a task was restarted."""
    while True:
        try:
            with supervisor.managed_session(master) as sess:
                while not supervisor.should_stop():
                    train_step_fn(sess, *(args or ()), **(kwargs or {}))
            return
        except errors.AbortedError:
            continue
