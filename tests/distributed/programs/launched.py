"""A script for `rushlight launch` that says `import torch`, and ends as its first argument says."""

import os
import resource
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record

mode, rank = sys.argv[1], os.environ["RANK"]
print("whole", end=" ")
print("line", rank, os.environ["LOCAL_RANK"], os.environ["WORLD_SIZE"], torch.get_num_threads(), sys.argv[2:])
if mode == "raise before" and rank == "1":
    raise KeyError("before MPI")
if mode == "restart" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and rank == "0":
    sys.exit(3)
if mode == "sleep":
    time.sleep(60)
record(dist.init_process_group)("gloo")
if rank == "1":
    if mode == "raise":
        raise ValueError("a bad number")
    if mode == "kill":
        os.kill(os.getpid(), 9)
    if mode == "memory":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize(),) * 2)
        held = []
        while True:
            held.append(bytearray(4096))
    if mode == "vanish":
        os._exit(0)
    if mode == "leave":
        sys.exit(0)
total = torch.ones(2)
dist.all_reduce(total)
print("total", total.tolist())
