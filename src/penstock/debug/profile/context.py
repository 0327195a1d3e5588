"""``tf.contrib.tfprof.ProfileContext``: traces some of the steps that run inside a ``with`` block, and profiles them."""
from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterable
from typing import Any

from tensorboard.compat.proto.config_pb2 import RunMetadata, RunOptions

from penstock.debug.profile.profiler import Profiler
from penstock.session.observers import RunObserver, SessionRun, run_observers

_FIRST, _COUNT = range(500), 100  # of the first so many steps, so many are traced unless the program says which
_VIEWS = {"scope": "profile_name_scope", "op": "profile_operations", "graph": "profile_graph", "code": "profile_python"}


class ProfileContext(RunObserver):
    """Each ``run`` of a session inside the block is a step, counted from 0.

    ``trace_steps`` are traced; after each of ``dump_steps`` what is known is written to ``profile_dir/profile_STEP``.
    """

    def __init__(self, profile_dir: str, trace_steps: Iterable[int] | None = None, dump_steps: Iterable[int] | None = None, enabled: bool = True,
                 debug: bool = False) -> None:
        if enabled and not profile_dir:
            raise ValueError("Must have a directory for profile.")
        self._folder, self._enabled = profile_dir, enabled
        self._trace = set(random.Random(0).sample(_FIRST, _COUNT) if trace_steps is None else trace_steps)
        self._dump = set([_FIRST[-1]] if dump_steps is None else dump_steps)
        self._automatic: list[tuple[str, dict[str, Any], set[int]]] = []
        self._profiles: dict[str, dict[int, Any]] = {}
        self._profiler: Profiler | None = None
        self._step, self._lock = 0, threading.Lock()
        self._trace_next = self._dump_next = False
        self._due: dict[int, tuple[int, bool, bool]] = {}  # runs under way: (step, is it traced, is it dumped)

    @property
    def profiler(self) -> Profiler:
        """The Profiler with the steps that were traced."""
        if self._profiler is None:
            self._profiler = Profiler()
        return self._profiler

    def add_auto_profiling(self, cmd: str, options: dict[str, Any], profile_steps: Iterable[int]) -> None:
        """Traces these steps, and makes a profile after each: see ``get_profiles``."""
        self._automatic.append((cmd, {**options}, set(profile_steps)))
        self._trace.update(profile_steps)

    def get_profiles(self, cmd: str) -> dict[int, Any]:
        """The profiles that were made by themselves: {step: proto}."""
        if cmd not in self._profiles:
            raise ValueError(f"No autoprofiler for command: {cmd}, was run")
        return self._profiles[cmd]

    def trace_next_step(self) -> None:
        """Traces the next step, whichever it is."""
        self._trace_next = True

    def dump_next_step(self) -> None:
        """Traces the next step, and writes what is known after it."""
        self._trace_next = self._dump_next = True

    def __enter__(self) -> ProfileContext:
        if self._enabled:
            run_observers.append(self)  # sessions that libraries make inside the block are meant too
        return self

    def __exit__(self, *error: Any) -> None:
        if self._enabled:
            run_observers.remove(self)

    def before(self, run: SessionRun) -> None:
        """Counts a step, and has it traced if its turn has come."""
        with self._lock:
            step, self._step = self._step, self._step + 1
            traced, self._trace_next = step in self._trace or self._trace_next, False
            dumped, self._dump_next = step in self._dump or self._dump_next, False
            self._due[id(run)] = step, traced, dumped
        if traced:
            options = RunOptions()
            if run.options is not None:
                options.CopyFrom(run.options)
            options.trace_level = RunOptions.FULL_TRACE
            run.options, run.metadata = options, RunMetadata() if run.metadata is None else run.metadata

    def after(self, run: SessionRun) -> None:
        """Adds what was traced to the profile."""
        with self._lock:
            step, traced, dumped = self._due.pop(id(run))
            if self._profiler is None:
                self._profiler = Profiler(run.graph)
            if traced:
                self._after(step, run.metadata)
            if dumped:
                self._write(step)

    def _after(self, step: int, run_metadata: Any) -> None:
        self.profiler.add_step(step, run_metadata)
        for cmd, options, steps in self._automatic:
            if step in steps:
                self._profiles.setdefault(cmd, {})[step] = getattr(self.profiler, _VIEWS[cmd])({**options, "step": step})

    def _write(self, step: int) -> None:
        os.makedirs(self._folder, exist_ok=True)
        with open(os.path.join(self._folder, f"profile_{step}"), "wb") as file:
            file.write(self.profiler.serialize_to_string())
