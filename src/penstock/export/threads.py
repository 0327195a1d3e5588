"""Threads of an exported model, if it was asked for some: they help with calls of several parts, as in a session. LLVM IR, over POSIX threads.

The *team* is memory of the model: the board that a run writes its calls on (``native/machine/driver.py``), and what its threads sleep by. A thread
looks at the board while runs follow each other closely, then sleeps until the next one begins. Without ``start``, or if a thread is late, the caller
runs all parts itself: the same parts, so the same bits.
"""
from __future__ import annotations

from penstock.errors import InvalidArgumentError
from penstock.export.targets import Target
from penstock.native.machine import driver

BAD_START = -2  # what ``start`` returns if the system gave it no thread
_MOST = 64
_STACK = 2 << 20  # bytes of a thread's stack: products keep their blocks there
_OPAQUE = 128  # bytes that are enough for a mutex, a condition, or attributes of threads on any of the systems
_SYSTEMS = ("linux", "android", "macos")

# Places in the team, in bytes, each on a line of its own.
_PARKED = driver.BOARD_BYTES
_MUTEX = _PARKED + 64
_CONDITION = _MUTEX + _OPAQUE
_HANDLES = _CONDITION + _OPAQUE
TEAM_BYTES = _HANDLES + 8 * _MOST

_TEXT = """
{sharing}
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_mutex_destroy(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @pthread_cond_destroy(ptr)

; where the handle of a thread is
define internal ptr @handle(ptr %team, i64 %i) {{
  %first = getelementptr i8, ptr %team, i64 {handles}
  %at = getelementptr i64, ptr %first, i64 %i
  ret ptr %at
}}

; what a thread does: it serves the board, and sleeps while there is no run
define internal ptr @help(ptr %team) {{
entry:
  %at_runs = getelementptr i8, ptr %team, i64 {runs}
  %at_stop = getelementptr i8, ptr %team, i64 {stop}
  %at_parked = getelementptr i8, ptr %team, i64 {parked}
  %mutex = getelementptr i8, ptr %team, i64 {mutex}
  %condition = getelementptr i8, ptr %team, i64 {condition}
  br label %work
work:
  call void @serve(ptr %team)
  %l = call i32 @pthread_mutex_lock(ptr %mutex)
  %p = atomicrmw add ptr %at_parked, i64 1 seq_cst
  br label %look
look:
  %runs = load atomic i64, ptr %at_runs seq_cst, align 8
  %stop = load atomic i64, ptr %at_stop seq_cst, align 8
  %running = icmp ne i64 %runs, 0
  %stopped = icmp ne i64 %stop, 0
  %up = or i1 %running, %stopped
  br i1 %up, label %rise, label %sleep
sleep:
  %w = call i32 @pthread_cond_wait(ptr %condition, ptr %mutex)
  br label %look
rise:
  %q = atomicrmw sub ptr %at_parked, i64 1 seq_cst
  %u = call i32 @pthread_mutex_unlock(ptr %mutex)
  br i1 %stopped, label %out, label %work
out:
  ret ptr null
}}

define internal void @wake(ptr %team) {{
  %mutex = getelementptr i8, ptr %team, i64 {mutex}
  %condition = getelementptr i8, ptr %team, i64 {condition}
  %l = call i32 @pthread_mutex_lock(ptr %mutex)
  %b = call i32 @pthread_cond_broadcast(ptr %condition)
  %u = call i32 @pthread_mutex_unlock(ptr %mutex)
  ret void
}}

; a run begins
define internal void @enter(ptr %team) {{
  %at_runs = getelementptr i8, ptr %team, i64 {runs}
  %at_parked = getelementptr i8, ptr %team, i64 {parked}
  %r = atomicrmw add ptr %at_runs, i64 1 seq_cst
  %parked = load atomic i64, ptr %at_parked seq_cst, align 8
  %some = icmp ne i64 %parked, 0
  br i1 %some, label %wake, label %out
wake:
  call void @wake(ptr %team)
  br label %out
out:
  ret void
}}

; a run has ended
define internal void @leave(ptr %team) {{
  %at_runs = getelementptr i8, ptr %team, i64 {runs}
  %r = atomicrmw sub ptr %at_runs, i64 1 seq_cst
  ret void
}}

define i32 @{name}_start(ptr %model) {{
entry:
  %ready = call i1 @is_ready(ptr %model)
  br i1 %ready, label %look, label %refused
refused:
  ret i32 {not_ready}
look:
  %team = getelementptr i8, ptr %model, i64 {team}
  %at_started = getelementptr i8, ptr %team, i64 {started}
  %mutex = getelementptr i8, ptr %team, i64 {mutex}
  %condition = getelementptr i8, ptr %team, i64 {condition}
  %before = load i64, ptr %at_started
  %again = icmp ne i64 %before, 0
  br i1 %again, label %out, label %begin
begin:
  %attributes = alloca [{opaque} x i8], align 64
  %a0 = call i32 @pthread_mutex_init(ptr %mutex, ptr null)
  %a1 = call i32 @pthread_cond_init(ptr %condition, ptr null)
  %a2 = call i32 @pthread_attr_init(ptr %attributes)
  %a3 = call i32 @pthread_attr_setstacksize(ptr %attributes, i64 {stack})
  br label %each
each:
  %i = phi i64 [ 0, %begin ], [ %next, %made ]
  %handle = call ptr @handle(ptr %team, i64 %i)
  %failed = call i32 @pthread_create(ptr %handle, ptr %attributes, ptr @help, ptr %team)
  %good = icmp eq i32 %failed, 0
  br i1 %good, label %made, label %done
made:
  %next = add i64 %i, 1
  store i64 %next, ptr %at_started
  %more = icmp ult i64 %next, {helpers}
  br i1 %more, label %each, label %done
done:
  %result = phi i32 [ 0, %made ], [ {bad_start}, %each ]
  %a4 = call i32 @pthread_attr_destroy(ptr %attributes)
  ret i32 %result
out:
  ret i32 0
}}

define void @{name}_stop(ptr %model) {{
entry:
  %ready = call i1 @is_ready(ptr %model)
  br i1 %ready, label %look, label %out
look:
  %team = getelementptr i8, ptr %model, i64 {team}
  %at_started = getelementptr i8, ptr %team, i64 {started}
  %at_stop = getelementptr i8, ptr %team, i64 {stop}
  %mutex = getelementptr i8, ptr %team, i64 {mutex}
  %condition = getelementptr i8, ptr %team, i64 {condition}
  %count = load i64, ptr %at_started
  %some = icmp ne i64 %count, 0
  br i1 %some, label %call, label %out
call:
  store atomic i64 1, ptr %at_stop seq_cst, align 8
  call void @wake(ptr %team)
  br label %each
each:
  %i = phi i64 [ 0, %call ], [ %next, %each ]
  %at_handle = call ptr @handle(ptr %team, i64 %i)
  %handle = load i64, ptr %at_handle
  %joined = call i32 @pthread_join(i64 %handle, ptr null)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %each, label %done
done:
  %d0 = call i32 @pthread_cond_destroy(ptr %condition)
  %d1 = call i32 @pthread_mutex_destroy(ptr %mutex)
  store i64 0, ptr %at_started
  store atomic i64 0, ptr %at_stop seq_cst, align 8
  br label %out
out:
  ret void
}}
"""


def check_threads(target: Target, threads: int) -> None:
    """InvalidArgumentError if a model for this target cannot have so many threads."""
    if not 1 <= threads <= _MOST:
        raise InvalidArgumentError(None, None, f"threads={threads}: it can be 1 to {_MOST}")
    if threads > 1 and not (target.name.endswith(_SYSTEMS) and target.name.startswith(("x86_64", "aarch64"))):
        raise InvalidArgumentError(None, None, f"threads={threads}: models for {target.name} run in the thread that calls them; threads=1")


def text(name: str, team: int, threads: int, not_ready: int) -> str:
    """The functions ``start`` and ``stop`` of a model, and those that its runs call; ``team``: where that is in its memory. ``not_ready``: what
    ``start`` returns before ``init``; ``stop`` does nothing then."""
    words = {name: driver.board_offset(word) for name, word in (("runs", "runs"), ("stop", "stop"), ("started", "helpers"))}
    places = {**words, "parked": _PARKED, "mutex": _MUTEX, "condition": _CONDITION, "handles": _HANDLES}
    return _TEXT.format(sharing=driver.sharing("internal "), name=name, team=team, helpers=threads - 1, stack=_STACK, opaque=_OPAQUE,
                        bad_start=BAD_START,
                        not_ready=not_ready, **places)
