"""Hooks one by one, with sessions and clocks that tests control."""
from __future__ import annotations

from penstock.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunValues


class Clock:
    """Stands for the module ``time``."""

    def __init__(self):
        self.now = 1000.0

    def time(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


class Steps:
    """A session whose global step a test sets; whatever is run, the step comes out."""

    def __init__(self, *steps):
        self.steps = list(steps)

    def run(self, fetches, feed_dict=None):
        return self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]


def after_run(hook, session, results):
    """Calls ``after_run`` and returns whether the hook asked to stop."""
    context = SessionRunContext(SessionRunArgs(None), session)
    hook.after_run(context, SessionRunValues(results, None, None))
    return context.stop_requested
