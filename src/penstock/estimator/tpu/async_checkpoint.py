"""``AsyncCheckpointSaverHook``: checkpoints that are written while the training goes on."""
from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from penstock.platform import logging
from penstock.train.file_hooks import CheckpointSaverHook


class AsyncCheckpointSaverHook(CheckpointSaverHook):
    """``tf.contrib.tpu.AsyncCheckpointSaverHook``: saves in a thread. A checkpoint is left out while the one before it is being written.

    A checkpoint has values of its step or of a later one. Errors of the thread are raised at the end, or when the next checkpoint is due.
    """

    _pending: Future[bool] | None = None
    _last_saved: int | None = None

    def begin(self) -> None:
        """Makes the thread."""
        super().begin()
        self._thread = ThreadPoolExecutor(1, "checkpoints")

    def end(self, session: Any) -> None:
        """Waits for the thread, and saves the last step, if that has not been done."""
        with self._thread:
            if self._pending is not None:
                logging.info("Waiting for any pending checkpoints to finish.")
                self._pending.result()
        step = int(session.run(self._step))
        if step != self._last_saved:
            super()._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session: Any, step: int) -> bool:
        """Saves in the thread, if it is idle; no listener can stop the training."""
        if self._pending is not None:
            if not self._pending.done():
                logging.info("Saver thread still in progress, skipping checkpoint.")
                return False
            self._pending.result()
        self._last_saved = step
        self._pending = self._thread.submit(super()._save, session, step)
        return False
