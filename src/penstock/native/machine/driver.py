"""The native driver: walks the table of a step, and spreads the parts of its calls over the team's threads. Written in LLVM IR.

A *run* is described by the words of its header (``HEADER``). First the cells of arrays that the caller brings along are filled in, then the calls of
the table are made one after the other. A call with several parts is written on the *board* (``BOARD``), where the team's threads see it; the caller
works on it too. A ticket holds the call's generation, and the first and the end of the parts that are left, all in one word, so that taking a part
is one compare-and-swap that cannot succeed for a call that has ended. The caller takes parts from the front, the others from the end: what one of two
threads has written is in its cache when the next call reads it. If another run has the board, the caller does all parts itself.

A thread of the team looks at the board as long as a run is under way, and a little longer; then it returns, to be parked by Python. One that has
found nothing to do for two milliseconds, as the caller does something alone or has lost its CPU, naps between two looks: others need what it spins
away.

In a crowd a thread may lose its CPU in the midst of a part, for milliseconds. The caller, which waits for it, notices: the thread takes more than
twice as long as such parts ever took the caller. It then sleeps, for a CPU that idles takes over a thread that waits for another CPU. The caller may
lose its own as well. What is lost in these ways is added up over windows of ten milliseconds of calls. Where it is so much of a window that the
caller would have been faster alone, that is an accident; but if the next window is like it, the caller runs all parts itself for a multiple of that
window, and the threads of the team sleep: the longer, the more windows in a row were like that. So the process takes no more CPUs than it gets, and
a step is hardly slower than with one thread; a machine that is a little unsteady, as virtual ones are, keeps its threads. Which thread runs a part
does not change a bit of the result.

A loop may turn for as long as its condition holds, so a run comes back at the end of an iteration when a slice of time is over, and goes on from
there when it is called again (``start``): between two slices Python sees to signals, and to whether the step is still wanted.
"""
from __future__ import annotations

from penstock.native.machine import target
from penstock.native.machine.abi import ARRAY_DATA

# What a run is told: which cells to fill with which arrays, which calls to make, and where to look whether one of them has failed.
HEADER = ("bindings", "binding_table", "ids", "cells", "calls", "call_table", "status", "board", "times", "start")
_COUNTS = ("bindings", "calls", "start")  # the other words of the header are addresses; start: the first call to be made
BINDING = ("cell", "id", "offset")  # an array that the caller brings along, by its place in ``ids``, and the cell for an address in it
# Of a jump: null, the cell of its condition, the index of the call to go to if that is false, how often in a row it was true.
CALL = ("function", "words", "stride", "parts", "fastest")  # fastest: in the run in which it was least, the time of the longest part of the caller's
BOARD = ("ticket", "function", "words", "stride", "done", "busy", "runs", "stop", "helpers", "resting", "until", "factor", "spent", "lost")
UNKNOWN = 1 << 60  # a time that is not known yet; three times that is a number still
MOST_PARTS = (1 << 20) - 1
_PATIENCE = 20_000  # looks at an idle board before a thread goes to sleep: some 200 us
_LATE = 4  # times 50 us, and twice the usual time of a part: what one takes longer is lost
_SLICE = 2000  # times 50 us: after so much time a run comes back at the end of an iteration
_WINDOW = 200  # times 50 us: what was lost is judged after so much time of calls that were shared
_MOST_REST = 63  # windows that the team rests, at most
_DRY = 160_000  # looks at a board without work before a thread naps between them: some 2 ms, more than most calls take that one thread runs alone
_NAPS = 2_000  # looks at the board that a nap stands for
_LINE = 64  # bytes between the words of the board: each on a cache line of its own


def board_offset(name: str) -> int:
    """Where a word of the board is, in bytes."""
    return BOARD.index(name) * _LINE


BOARD_BYTES = len(BOARD) * _LINE

# What threads share parts of calls by.
_SHARING = """
{hint}
{control}
declare i32 @{yield}()

define internal void @pause(i64 %n) {{
  {pause}
  %low = and i64 %n, 1023
  %often = icmp eq i64 %low, 1023
  br i1 %often, label %give, label %out
give:
  %ignored = call i32 @{yield}()
  br label %out
out:
  ret void
}}

{clock}
{sleep}
; takes one part of the call on the board, the first or the last, and runs it; 0 if there is none
define internal i1 @take(ptr %board, i1 %is_first) {{
  %done = getelementptr i8, ptr %board, i64 {done}
  %ticket = load atomic i64, ptr %board acquire, align 8
  %first = and i64 %ticket, 1048575
  %shifted = lshr i64 %ticket, 20
  %end = and i64 %shifted, 1048575
  %some = icmp ult i64 %first, %end
  br i1 %some, label %try, label %none
try:
  %last = sub i64 %end, 1
  %next = select i1 %is_first, i64 %first, i64 %last
  %change = select i1 %is_first, i64 1, i64 -1048576
  %after = add i64 %ticket, %change
  %swap = cmpxchg ptr %board, i64 %ticket, i64 %after acq_rel acquire
  %mine = extractvalue {{ i64, i1 }} %swap, 1
  br i1 %mine, label %run, label %taken
run:
  %at_function = getelementptr i8, ptr %board, i64 {function}
  %function = load ptr, ptr %at_function
  %at_words = getelementptr i8, ptr %board, i64 {words}
  %words = load ptr, ptr %at_words
  %at_stride = getelementptr i8, ptr %board, i64 {stride}
  %stride = load i64, ptr %at_stride
  %offset = mul i64 %stride, %next
  %part = getelementptr i8, ptr %words, i64 %offset
  call void %function(ptr %part)
  %was = atomicrmw add ptr %done, i64 1 acq_rel
  ret i1 1
taken:
  ret i1 1
none:
  ret i1 0
}}

; what a thread of the team does
define {serve}void @serve(ptr %board) {{
entry:
  %at_runs = getelementptr i8, ptr %board, i64 {runs}
  %at_stop = getelementptr i8, ptr %board, i64 {stop}
  %at_resting = getelementptr i8, ptr %board, i64 {resting}
  %mode = call i64 @flush()
  br label %look
look:
  %idle = phi i64 [ 0, %entry ], [ 0, %worked ], [ %longer, %wait ], [ %rested, %nap ] ; looks since a run was under way
  %dry = phi i64 [ 0, %entry ], [ 0, %worked ], [ %drier, %wait ], [ {dry}, %nap ] ; looks since there was something to do
  %found = call i1 @take(ptr %board, i1 0)
  br i1 %found, label %worked, label %nothing
worked:
  br label %look
nothing:
  %runs = load atomic i64, ptr %at_runs monotonic, align 8
  %running = icmp sgt i64 %runs, 0
  %more = add i64 %idle, 1
  %longer = select i1 %running, i64 0, i64 %more
  %stop = load atomic i64, ptr %at_stop monotonic, align 8
  %stopped = icmp ne i64 %stop, 0
  %tired = icmp ugt i64 %longer, {patience}
  %leave = or i1 %stopped, %tired
  br i1 %leave, label %out, label %stay
stay:
  %resting = load atomic i64, ptr %at_resting monotonic, align 8
  %rests = icmp ne i64 %resting, 0
  %drier = add i64 %dry, 1
  %is_dry = icmp ugt i64 %drier, {dry}
  %sleeps = or i1 %rests, %is_dry
  br i1 %sleeps, label %nap, label %wait
nap:
  %span = select i1 %rests, i32 500, i32 50
  call void @sleep(i32 %span)
  %slept = add i64 %idle, {naps}
  %rested = select i1 %running, i64 0, i64 %slept
  br label %look
wait:
  call void @pause(i64 %more)
  br label %look
out:
  call void @restore(i64 %mode)
  ret void
}}

; a call of several parts
define internal void @share(ptr %function, ptr %words, i64 %stride, i64 %parts, ptr %at_fastest, ptr %board) {{
entry:
  %at_busy = getelementptr i8, ptr %board, i64 {busy}
  %at_resting = getelementptr i8, ptr %board, i64 {resting}
  %at_until = getelementptr i8, ptr %board, i64 {until}
  %at_factor = getelementptr i8, ptr %board, i64 {factor}
  %at_helpers = getelementptr i8, ptr %board, i64 {helpers}
  %at_spent = getelementptr i8, ptr %board, i64 {spent}
  %at_lost = getelementptr i8, ptr %board, i64 {lost}
  %resting = load atomic i64, ptr %at_resting monotonic, align 8
  %rests = icmp ne i64 %resting, 0
  br i1 %rests, label %rest, label %try
rest:
  %present = call i64 @clock()
  %until = load atomic i64, ptr %at_until monotonic, align 8
  %left = sub i64 %until, %present
  %goes_on = icmp sgt i64 %left, 0
  br i1 %goes_on, label %alone, label %rested
rested:
  store atomic i64 0, ptr %at_resting monotonic, align 8
  br label %try
try:
  %swap = cmpxchg ptr %at_busy, i64 0, i64 1 acq_rel acquire
  %mine = extractvalue {{ i64, i1 }} %swap, 1
  br i1 %mine, label %publish, label %alone
publish:
  %at_function = getelementptr i8, ptr %board, i64 {function}
  %at_words = getelementptr i8, ptr %board, i64 {words}
  %at_stride = getelementptr i8, ptr %board, i64 {stride}
  %at_done = getelementptr i8, ptr %board, i64 {done}
  store ptr %function, ptr %at_function
  store ptr %words, ptr %at_words
  store i64 %stride, ptr %at_stride
  store atomic i64 0, ptr %at_done monotonic, align 8
  %old = load atomic i64, ptr %board monotonic, align 8
  %generation = lshr i64 %old, 40
  %newer = add i64 %generation, 1
  %high = shl i64 %newer, 40
  %middle = shl i64 %parts, 20
  %ticket = or i64 %high, %middle
  store atomic i64 %ticket, ptr %board release, align 8
  %begin = call i64 @clock()
  br label %work
work:
  %before = phi i64 [ %begin, %publish ], [ %after, %worked ]
  %longest = phi i64 [ 0, %publish ], [ %longer, %worked ] ; of the parts that this thread has run
  %found = call i1 @take(ptr %board, i1 1)
  %after = call i64 @clock()
  br i1 %found, label %worked, label %ended
worked:
  %took = sub i64 %after, %before
  %is_longer = icmp sgt i64 %took, %longest
  %longer = select i1 %is_longer, i64 %took, i64 %longest
  br label %work
ended:
  %earlier = load i64, ptr %at_fastest
  %some = icmp sgt i64 %longest, 0
  %faster = icmp slt i64 %longest, %earlier
  %better = and i1 %some, %faster
  %usual = select i1 %better, i64 %longest, i64 %earlier
  store i64 %usual, ptr %at_fastest
  br label %wait
wait:
  %n = phi i64 [ 0, %ended ], [ %more, %again ], [ %more, %nap ]
  %more = add i64 %n, 1
  %done = load atomic i64, ptr %at_done acquire, align 8
  %all = icmp eq i64 %done, %parts
  br i1 %all, label %joined, label %look
look:
  %low = and i64 %more, 63
  %often = icmp eq i64 %low, 0
  br i1 %often, label %measure, label %again
again:
  call void @pause(i64 %more)
  br label %wait
measure:
  %is_late_now = call i1 @late(i64 %after, i64 %usual)
  br i1 %is_late_now, label %nap, label %again
nap:
  call void @sleep(i32 50)
  br label %wait
joined:
  %end = call i64 @clock()
  %waited = sub i64 %end, %after
  %is_late = call i1 @late(i64 %after, i64 %usual)
  %late = select i1 %is_late, i64 %waited, i64 0
  %thrice = mul i64 %usual, 3
  %plausible = add i64 %thrice, {margin}
  %was_off = icmp sgt i64 %longest, %plausible ; this thread has lost its own CPU
  %excess = sub i64 %longest, %usual
  %off = select i1 %was_off, i64 %excess, i64 0
  %cost = add i64 %late, %off
  %span = sub i64 %end, %begin
  %spent_before = load atomic i64, ptr %at_spent monotonic, align 8
  %lost_before = load atomic i64, ptr %at_lost monotonic, align 8
  %spent = add i64 %spent_before, %span
  %lost = add i64 %lost_before, %cost
  %is_full = icmp sgt i64 %spent, {window}
  br i1 %is_full, label %judge, label %add
add:
  store atomic i64 %spent, ptr %at_spent monotonic, align 8
  store atomic i64 %lost, ptr %at_lost monotonic, align 8
  br label %free
judge: ; n threads would take 1 / n of the time that one takes, were nothing lost: it is a crowd if four fifths of that gain are lost
  store atomic i64 0, ptr %at_spent monotonic, align 8
  store atomic i64 0, ptr %at_lost monotonic, align 8
  %helpers = load atomic i64, ptr %at_helpers monotonic, align 8
  %threads = add i64 %helpers, 1
  %fifths = mul i64 %threads, 5
  %weighed = mul i64 %lost, %fifths
  %fourfold = shl i64 %helpers, 2
  %gain = mul i64 %spent, %fourfold
  %is_crowd = icmp sgt i64 %weighed, %gain
  %factor = load atomic i64, ptr %at_factor monotonic, align 8
  %is_repeated = icmp sgt i64 %factor, 0
  %twice = shl i64 %factor, 1
  %more_rest = add i64 %twice, 1
  %too_much = icmp sgt i64 %more_rest, {most_rest}
  %grown = select i1 %too_much, i64 {most_rest}, i64 %more_rest
  %times = select i1 %is_crowd, i64 %grown, i64 0
  store atomic i64 %times, ptr %at_factor monotonic, align 8
  %windows = sub i64 %grown, 1 ; once is an accident
  %rests_now = and i1 %is_crowd, %is_repeated
  %pause = mul i64 %spent, %windows
  %then = add i64 %end, %pause
  store atomic i64 %then, ptr %at_until monotonic, align 8
  %flag = zext i1 %rests_now to i64
  store atomic i64 %flag, ptr %at_resting monotonic, align 8
  br label %free
free:
  store atomic i64 0, ptr %at_busy release, align 8
  ret void
alone:
  %index = phi i64 [ 0, %rest ], [ 0, %try ], [ %following, %alone ]
  %offset = mul i64 %stride, %index
  %part = getelementptr i8, ptr %words, i64 %offset
  call void %function(ptr %part)
  %following = add i64 %index, 1
  %over = icmp eq i64 %following, %parts
  br i1 %over, label %out, label %alone
out:
  ret void
}}

; has a thread waited too long, since a moment, for one that runs a part that usually takes so long?
define internal i1 @late(i64 %since, i64 %usual) {{
  %now = call i64 @clock()
  %waited = sub i64 %now, %since
  %double = shl i64 %usual, 1 ; parts differ, and so do caches
  %limit = add i64 %double, {margin}
  %late = icmp sgt i64 %waited, %limit
  ret i1 %late
}}
"""

_RUN = """
declare void @free(ptr)

; ends what lists have allocated
define void @release(ptr %memory) {{
  call void @free(ptr %memory)
  ret void
}}

; a run, from the call at ``start`` on: the index of the call that failed; -1 at its end; -2 - i if a slice of time is over, and i is the next call
define i64 @run(ptr %header) {{
entry:
{header}
  %timed = icmp ne ptr %times, null
  %at_runs = getelementptr i8, ptr %board, i64 {runs}
  %before = atomicrmw add ptr %at_runs, i64 1 acq_rel
  store i64 0, ptr %status
  %mode = call i64 @flush()
  %begun = call i64 @clock()
  br label %bind
bind:
  %b = phi i64 [ 0, %entry ], [ %b_next, %bind_one ]
  %b_more = icmp slt i64 %b, %bindings
  br i1 %b_more, label %bind_one, label %steps
bind_one:
  %b_row = mul i64 %b, {binding_bytes}
  %at_cell = getelementptr i8, ptr %binding_table, i64 %b_row
  %at_id = getelementptr i8, ptr %at_cell, i64 8
  %at_offset = getelementptr i8, ptr %at_cell, i64 16
  %cell = load i64, ptr %at_cell
  %id = load i64, ptr %at_id
  %offset = load i64, ptr %at_offset
  %at_object = getelementptr i64, ptr %ids, i64 %id
  %object = load ptr, ptr %at_object
  %at_data = getelementptr i8, ptr %object, i64 {array_data}
  %data = load i64, ptr %at_data
  %address = add i64 %data, %offset
  %at_target = getelementptr i64, ptr %cells, i64 %cell
  store i64 %address, ptr %at_target
  %b_next = add i64 %b, 1
  br label %bind
steps:
  %i = phi i64 [ %start, %bind ], [ %i_next, %after ], [ %i_jump, %jump ], [ %i_jump, %turn ]
  br i1 %timed, label %stamp, label %test
stamp:
  %now = call i64 @llvm.readcyclecounter()
  %at_time = getelementptr i64, ptr %times, i64 %i
  store i64 %now, ptr %at_time
  br label %test
test:
  %i_more = icmp slt i64 %i, %calls
  br i1 %i_more, label %step, label %finish
step:
  %row = mul i64 %i, {call_bytes}
  %at_function = getelementptr i8, ptr %call_table, i64 %row
  %at_words = getelementptr i8, ptr %at_function, i64 8
  %at_stride = getelementptr i8, ptr %at_function, i64 16
  %at_parts = getelementptr i8, ptr %at_function, i64 24
  %at_fastest = getelementptr i8, ptr %at_function, i64 32
  %function = load ptr, ptr %at_function
  %words = load ptr, ptr %at_words
  %stride = load i64, ptr %at_stride
  %parts = load i64, ptr %at_parts
  %jumps = icmp eq ptr %function, null
  br i1 %jumps, label %jump, label %work
jump:
  %at_condition = load ptr, ptr %words
  %condition = load i8, ptr %at_condition
  %holds = icmp ne i8 %condition, 0
  %i_after = add i64 %i, 1
  %i_jump = select i1 %holds, i64 %i_after, i64 %stride
  %again = add i64 %parts, 1
  %in_a_row = select i1 %holds, i64 %again, i64 0
  store i64 %in_a_row, ptr %at_parts
  %back = icmp sle i64 %i_jump, %i
  br i1 %back, label %turn, label %steps
turn: ; an iteration has ended
  %moment = call i64 @clock()
  %spent = sub i64 %moment, %begun
  %is_over = icmp sgt i64 %spent, {slice}
  %later = sub i64 -2, %i_jump
  br i1 %is_over, label %finish, label %steps
work:
  %single = icmp eq i64 %parts, 1
  br i1 %single, label %one, label %many
one:
  call void %function(ptr %words)
  br label %after
many:
  call void @share(ptr %function, ptr %words, i64 %stride, i64 %parts, ptr %at_fastest, ptr %board)
  br label %after
after:
  %i_next = add i64 %i, 1
  %failed = load i64, ptr %status
  %ok = icmp eq i64 %failed, 0
  br i1 %ok, label %steps, label %finish
finish:
  %result = phi i64 [ -1, %test ], [ %i, %after ], [ %later, %turn ]
  call void @restore(i64 %mode)
  %last = atomicrmw add ptr %at_runs, i64 -1 acq_rel
  ret i64 %result
}}
"""

# flush: from now on this thread takes numbers too small to be normal for 0, as TensorFlow does; they cost a hundred times more. The mode before that.
_X86_CONTROL = """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)

define internal i64 @flush() {
  %place = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %place)
  %old = load i32, ptr %place
  %new = or i32 %old, 32832 ; results, and operands
  store i32 %new, ptr %place
  call void @llvm.x86.sse.ldmxcsr(ptr %place)
  %result = zext i32 %old to i64
  ret i64 %result
}

define internal void @restore(i64 %mode) {
  %place = alloca i32
  %old = trunc i64 %mode to i32
  store i32 %old, ptr %place
  call void @llvm.x86.sse.ldmxcsr(ptr %place)
  ret void
}
"""
_ARM_CONTROL = """
declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)

define internal i64 @flush() {
  %old = call i64 @llvm.aarch64.get.fpcr()
  %new = or i64 %old, 16777216
  call void @llvm.aarch64.set.fpcr(i64 %new)
  ret i64 %old
}

define internal void @restore(i64 %mode) {
  call void @llvm.aarch64.set.fpcr(i64 %mode)
  ret void
}
"""
_NO_CONTROL = """
define internal i64 @flush() {
  ret i64 0
}

define internal void @restore(i64 %mode) {
  ret void
}
"""
# clock: something that counts up, fast to read
_X86_CLOCK = """
define internal i64 @clock() {
  %now = call i64 @llvm.readcyclecounter()
  ret i64 %now
}
"""
_POSIX_CLOCK = """
declare i32 @clock_gettime(i32, ptr)

define internal i64 @clock() {
  %time = alloca [2 x i64]
  %ignored = call i32 @clock_gettime(i32 CLOCK_MONOTONIC, ptr %time)
  %at_rest = getelementptr i64, ptr %time, i64 1
  %seconds = load i64, ptr %time
  %rest = load i64, ptr %at_rest
  %large = mul i64 %seconds, 1000000000
  %now = add i64 %large, %rest
  ret i64 %now
}
"""
_POSIX_SLEEP = """
declare i32 @usleep(i32)

define internal void @sleep(i32 %microseconds) {
  %ignored = call i32 @usleep(i32 %microseconds)
  ret void
}
"""
_WINDOWS_SLEEP = """
declare void @Sleep(i32)

define internal void @sleep(i32 %microseconds) {
  call void @Sleep(i32 1)
  ret void
}
"""
# What differs between machines: the hint to the CPU that a loop waits, the type of its argument, the control of small numbers, a clock, 50 us of it.
_MACHINES = {"x86": ("llvm.x86.sse2.pause()", "", _X86_CONTROL, _X86_CLOCK, 150_000), "": ("", "", _NO_CONTROL, _POSIX_CLOCK, 50_000),
             "arm": ("llvm.aarch64.hint(i32 1)", "i32", _ARM_CONTROL, _POSIX_CLOCK, 50_000)}


def _machine() -> str:
    triple = target.triple()
    return "x86" if triple.startswith(("x86_64", "i686")) else "arm" if triple.startswith(("aarch64", "arm64")) else ""


def _is_darwin(triple: str) -> bool:
    return "apple" in triple or "darwin" in triple


def control() -> str:
    """The functions ``flush`` and ``restore``, for the machine that code is made for."""
    return _MACHINES[_machine()][2]


def text() -> str:
    """The module, for this machine."""
    sizes = {"binding_bytes": 8 * len(BINDING), "call_bytes": 8 * len(CALL), "array_data": ARRAY_DATA, "slice": _SLICE * _MACHINES[_machine()][-1]}
    return sharing() + _RUN.format(header=_header(), runs=board_offset("runs"), **sizes)


def sharing(linkage: str = "") -> str:
    """``share``, which runs the parts of a call together with the threads in ``serve``; ``flush`` and ``restore``. ``linkage``: of ``serve``."""
    triple = target.triple()
    hint, kind, control, clock, span = _MACHINES[_machine()]
    is_windows = "windows" in triple
    words: dict[str, object] = {name: board_offset(name) for name in BOARD}
    words |= {"patience": _PATIENCE, "margin": _LATE * span, "window": _WINDOW * span, "most_rest": _MOST_REST, "naps": _NAPS, "dry": _DRY}
    words["sleep"] = _WINDOWS_SLEEP if is_windows else _POSIX_SLEEP
    words["clock"] = "declare i64 @llvm.readcyclecounter()\n" + clock.replace("CLOCK_MONOTONIC", "6" if _is_darwin(triple) else "1")
    words["serve"] = linkage
    words["yield"] = "SwitchToThread" if is_windows else "sched_yield"
    words["hint"] = f"declare void @{hint.partition('(')[0]}({kind})" if hint else ""
    return _SHARING.format(**words, pause=f"call void @{hint}" if hint else "", control=control)


def _header() -> str:
    """Loads the words of the header, each under its name."""
    lines = []
    for index, name in enumerate(HEADER):
        lines.append(f"  %at_{name} = getelementptr i64, ptr %header, i64 {index}")
        lines.append(f"  %{name} = load {'i64' if name in _COUNTS else 'ptr'}, ptr %at_{name}")
    return "\n".join(lines)
