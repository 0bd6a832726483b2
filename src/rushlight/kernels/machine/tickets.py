"""The machine code by which threads share out the chunks of a program's parallel loops: see `share_code`."""

from __future__ import annotations

# Bytes: the tickets taken and the number of finished chunks, on cache lines of their own. The word of the tickets also
# holds, in its lowest bits, how many of the present loop's were taken from the back.
LAUNCH_COUNTERS = (0, 64)
_BACK_BITS = 28

TAKE_CHUNK = "i64 @take_chunk(ptr {}, i64 {}, i64 {}, i64 {})"
FINISH_CHUNKS = "void @finish_chunks(ptr {}, i64 {}, i64 {})"

_TAKE = f"""
define {TAKE_CHUNK.format("%launch", "%first", "%chunks", "%worker")} nounwind {{
start:
  %end = add i64 %first, %chunks
  %last = sub i64 %chunks, 1
  %odd = and i64 %worker, 1
  %is_odd = icmp ne i64 %odd, 0
  br label %look
look:
  %word = load atomic i64, ptr %launch monotonic, align 8
  %taken = lshr i64 %word, {_BACK_BITS}
  %left = icmp slt i64 %taken, %end
  br i1 %left, label %attempt, label %none
attempt:
  %taken_here = sub i64 %taken, %first
  %untouched = icmp eq i64 %taken_here, 0  ; then the bits are those of the loop before
  %bits = and i64 %word, {(1 << _BACK_BITS) - 1}
  %from_back = select i1 %untouched, i64 0, i64 %bits
  %from_front = sub i64 %taken_here, %from_back
  %backmost = sub i64 %last, %from_back
  %chunk = select i1 %is_odd, i64 %backmost, i64 %from_front
  %more = add i64 %taken, 1
  %high = shl i64 %more, {_BACK_BITS}
  %low = add i64 %from_back, %odd
  %following = or i64 %high, %low
  %exchange = cmpxchg ptr %launch, i64 %word, i64 %following acquire monotonic, align 8
  %mine = extractvalue {{ i64, i1 }} %exchange, 1
  br i1 %mine, label %got, label %look
got:
  ret i64 %chunk
none:
  ret i64 -1
}}
"""

_FINISH = f"""
define {FINISH_CHUNKS.format("%launch", "%done", "%end")} nounwind {{
  %finished = getelementptr i8, ptr %launch, i64 {LAUNCH_COUNTERS[1]}
  %any = icmp ne i64 %done, 0
  br i1 %any, label %add, label %look
add:
  %before = atomicrmw add ptr %finished, i64 %done release, align 8
  br label %look
look:
  %count = load atomic i64, ptr %finished acquire, align 8
  %waiting = icmp slt i64 %count, %end
  br i1 %waiting, label %wait, label %all
wait:
  call void @await_count(ptr %finished, i64 %end)
  br label %all
all:
  ret void
}}
declare void @await_count(ptr, i64)
"""


def share_code():
    """LLVM IR of ``take_chunk`` and ``finish_chunks``, which programs call at each parallel loop.

    ``take_chunk(launch, first, chunks, worker)`` gives the next chunk of the loop whose tickets begin with ``first``, or
    -1 where none is left. Tickets are numbered through all parallel loops of a run, and every thread works out by itself
    which ones belong to the loop that it is at: a thread may join late, or never, and none has to be waited for to
    begin. Even threads take a loop's chunks from the front and odd ones from the back: what one finds in its own caches,
    from loop to loop and from run to run, the other seldom has to fetch from there.

    ``finish_chunks(launch, done, end)`` says that this thread has finished so many, and waits until all tickets before
    ``end`` are.
    """
    return _TAKE + _FINISH
