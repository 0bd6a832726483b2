"""The machine code that all runs share: beginning one, taking part in one, waiting, going to sleep."""

from __future__ import annotations

import platform

from .system import system

_IDLE_SPINS = 50_000  # pauses before a worker goes to sleep: about half a millisecond
_WAIT_SPINS = 15_000  # pauses before a waiting thread lets others use its core
_NAP_MICROSECONDS = 20
# Every so many pauses a waiting thread offers its core to whoever else wants it: a third of a microsecond where nobody does.
# One that only spins uses up its share of a core that it has with a neighbour, and is put aside when it has work at last,
# with a chunk in hand for which all others wait: some milliseconds.
_YIELD_SPINS = 1024

# The state's fields, bytes from its start, each on cache lines of its own.
_WORD = 0  # i64: epoch << 32 | open << 16 | threads at work
_SLEEPERS = 128
_FUNCTION, _CONTEXT, _LAUNCH = 256, 264, 272
_LIMIT = 384  # i64: how many threads may take part, the caller included
_BUSY = 512
_QUIT = 640
_STATE_BYTES = 768
_OPEN = 1 << 16

# Not the pause instruction: where it is repeated, a hypervisor takes the core away for 20 us.
_X86_WAIT = ("declare i64 @llvm.readcyclecounter()", "%t = call i64 @llvm.readcyclecounter()")
# ARM's hint to wait is over at once on most of its cores; to fetch the coming instructions anew takes about as long.
_ARM_WAIT = ("declare void @llvm.aarch64.isb(i32)", "call void @llvm.aarch64.isb(i32 15)")
_WAITS = {"x86_64": _X86_WAIT, "amd64": _X86_WAIT, "aarch64": _ARM_WAIT, "arm64": _ARM_WAIT}


def _field(name, offset):
    return f"%{name} = getelementptr i8, ptr @state, i64 {offset}"


_WAITING = f"""
define internal void @pause(i32 %rounds) nounwind {{  ; one step of waiting: now and then another thread's turn
  %part = and i32 %rounds, {_YIELD_SPINS - 1}
  %all = icmp eq i32 %part, {_YIELD_SPINS - 1}
  br i1 %all, label %give, label %spin
give:
  call void @give_way()
  ret void
spin:
  call void @spin()
  ret void
}}
define internal void @linger(i32 %rounds) nounwind {{  ; a pause at first, naps after many rounds
  %long = icmp ugt i32 %rounds, {_WAIT_SPINS}
  br i1 %long, label %nap, label %spin
nap:
  call void @nap(i32 {_NAP_MICROSECONDS})
  ret void
spin:
  call void @pause(i32 %rounds)
  ret void
}}
define void @await_count(ptr %counter, i64 %end) nounwind {{  ; until the counter has reached end
start:
  br label %look
look:
  %rounds = phi i32 [0, %start], [%next, %wait]
  %count = load atomic i64, ptr %counter acquire, align 8
  %reached = icmp sge i64 %count, %end
  br i1 %reached, label %done, label %wait
wait:
  call void @linger(i32 %rounds)
  %next = add i32 %rounds, 1
  br label %look
done:
  ret void
}}
"""

# Where the caller tells the workers what to do.
_ANNOUNCEMENT = f"""  {_field("word_at", _WORD)}
  {_field("epoch_at", _WORD + 4)}
  {_field("sleepers_at", _SLEEPERS)}
  {_field("function_at", _FUNCTION)}
  {_field("context_at", _CONTEXT)}
  {_field("launch_at", _LAUNCH)}"""

_RUN = f"""
define void @run(ptr %function, ptr %context, ptr %launch) nounwind {{  ; call function on all threads that are free
start:
  {_field("limit_at", _LIMIT)}
  {_field("busy_at", _BUSY)}
  %limit = load atomic i64, ptr %limit_at monotonic, align 8
  %single = icmp sle i64 %limit, 1
  br i1 %single, label %alone, label %lock
lock:
  %exchange = cmpxchg ptr %busy_at, i32 0, i32 1 acquire monotonic, align 4
  %locked = extractvalue {{ i32, i1 }} %exchange, 1
  br i1 %locked, label %announce, label %alone
alone:
  call void %function(ptr %context, i64 0, ptr %launch)
  ret void
announce:
{_ANNOUNCEMENT}
  store ptr %function, ptr %function_at
  store ptr %context, ptr %context_at
  store ptr %launch, ptr %launch_at
  %old = load atomic i64, ptr %word_at monotonic, align 8
  %epoch = lshr i64 %old, 32
  %epoch1 = add i64 %epoch, 1
  %high = shl i64 %epoch1, 32
  %open = or i64 %high, {_OPEN}
  %before = atomicrmw xchg ptr %word_at, i64 %open seq_cst, align 8
  %sleepers = load atomic i32, ptr %sleepers_at seq_cst, align 4
  %any = icmp ne i32 %sleepers, 0
  br i1 %any, label %rouse, label %go
rouse:
  call void @wake(ptr %epoch_at)
  br label %go
go:
  call void %function(ptr %context, i64 0, ptr %launch)
  %mask = xor i64 {_OPEN}, -1
  %closing = atomicrmw and ptr %word_at, i64 %mask acq_rel, align 8
  br label %look
look:
  %rounds = phi i32 [0, %go], [%next, %wait]
  %word = load atomic i64, ptr %word_at acquire, align 8
  %active = and i64 %word, {_OPEN - 1}
  %idle = icmp eq i64 %active, 0
  br i1 %idle, label %unlock, label %wait
wait:
  call void @linger(i32 %rounds)
  %next = add i32 %rounds, 1
  br label %look
unlock:
  store atomic i32 0, ptr %busy_at release, align 4
  ret void
}}
"""

_WORK = f"""
define void @work(i64 %worker) nounwind {{  ; what a worker thread does, until it is told to quit
start:
{_ANNOUNCEMENT}
  {_field("limit_at", _LIMIT)}
  {_field("quit_at", _QUIT)}
  br label %look
look:
  %seen = phi i32 [0, %start], [%seen, %again], [%seen, %wakeful], [%epoch, %joined], [%seen, %join]
  %rounds = phi i32 [0, %start], [%next, %again], [0, %wakeful], [0, %joined], [0, %join]
  %quit = load atomic i32, ptr %quit_at acquire, align 4
  %leave = icmp ne i32 %quit, 0
  br i1 %leave, label %done, label %check
check:
  %word = load atomic i64, ptr %word_at acquire, align 8
  %wide = lshr i64 %word, 32
  %epoch = trunc i64 %wide to i32
  %fresh = icmp ne i32 %epoch, %seen
  %open_bit = and i64 %word, {_OPEN}
  %open = icmp ne i64 %open_bit, 0
  %limit = load atomic i64, ptr %limit_at monotonic, align 8
  %wanted = icmp slt i64 %worker, %limit
  %both = and i1 %fresh, %open
  %joinable = and i1 %both, %wanted
  br i1 %joinable, label %join, label %idle
join:
  %more = add i64 %word, 1
  %exchange = cmpxchg ptr %word_at, i64 %word, i64 %more acq_rel monotonic, align 8
  %success = extractvalue {{ i64, i1 }} %exchange, 1
  br i1 %success, label %joined, label %look
joined:
  %function = load ptr, ptr %function_at
  %context = load ptr, ptr %context_at
  %launch = load ptr, ptr %launch_at
  call void %function(ptr %context, i64 %worker, ptr %launch)
  %left = atomicrmw sub ptr %word_at, i64 1 release, align 8
  br label %look
idle:
  %tired = icmp ugt i32 %rounds, {_IDLE_SPINS}
  br i1 %tired, label %rest, label %again
again:
  call void @pause(i32 %rounds)
  %next = add i32 %rounds, 1
  br label %look
rest:
  %s1 = atomicrmw add ptr %sleepers_at, i32 1 seq_cst, align 4
  %quit2 = load atomic i32, ptr %quit_at seq_cst, align 4
  %current = load atomic i32, ptr %epoch_at seq_cst, align 4
  %unchanged = icmp eq i32 %current, %epoch
  %staying = icmp eq i32 %quit2, 0
  %sleepy = and i1 %unchanged, %staying
  br i1 %sleepy, label %sleep, label %wakeful
sleep:
  call void @sleep_while(ptr %epoch_at, i32 %epoch)
  br label %wakeful
wakeful:
  %s2 = atomicrmw sub ptr %sleepers_at, i32 1 seq_cst, align 4
  br label %look
done:
  ret void
}}
"""

_CONTROL = f"""
define void @set_limit(i64 %limit) nounwind {{
  {_field("limit_at", _LIMIT)}
  store atomic i64 %limit, ptr %limit_at seq_cst, align 8
  ret void
}}
define void @quit() nounwind {{  ; send all workers home
  {_field("quit_at", _QUIT)}
  {_field("epoch_at", _WORD + 4)}
  store atomic i32 1, ptr %quit_at seq_cst, align 4
  %epoch = atomicrmw add ptr %epoch_at, i32 1 seq_cst, align 4
  call void @wake(ptr %epoch_at)
  ret void
}}
define void @reset() nounwind {{  ; as if no worker had ever been there: in a forked child none is
  call void @llvm.memset.p0.i64(ptr @state, i8 0, i64 {_STATE_BYTES}, i1 false)
  ret void
}}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""


def runtime_code(machine=None, waiting=None):
    """LLVM IR of ``run``, ``work``, ``await_count``, ``set_limit``, ``quit`` and ``reset``, and of their state.

    For this machine and its system's way of ``waiting``, or others'.
    """
    machine = machine or platform.machine().lower()
    declaration, pause = _WAITS.get(machine, ("", ""))
    head = f"""
@state = internal global [{_STATE_BYTES} x i8] zeroinitializer, align 128
{declaration}
define internal void @spin() nounwind {{
  {pause}
  ret void
}}
"""
    return "".join([head, waiting or system().waiting, _WAITING, _RUN, _WORK, _CONTROL])
