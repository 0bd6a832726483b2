"""Several processes side by side: collectives of Rushlight, raw mpi4py and PyTorch's gloo; training steps of both DistributedDataParallel.

    python benchmarks/distributed.py [--processes 2] [--seconds 0.3]

starts one job of MPI, in whose processes all three take turns; times are the best of all rounds. The last columns of the steps say how
much of the reductions is hidden behind backward: 1 - (step - step without reduction) / reduction alone, of one all_reduce of all gradients.
"""

from __future__ import annotations

import argparse
import importlib
import os
import socket
import subprocess
import sys
import time

import networks
import numpy as np

SIZES = [4 << 10, 64 << 10, 1 << 20, 4 << 20, 16 << 20, 100 << 20]  # bytes
LIBRARIES = ("rushlight", "torch")


def best_of_turns(steps, together, seconds, rounds=12):
    """The best mean time of each step, which take turns; ``together`` agrees on numbers and lines processes up."""
    counts = []
    for step in steps:
        for _ in range(3):
            step()
        begin = time.perf_counter()
        step()
        counts.append(max(1, int(together(seconds / rounds / max(time.perf_counter() - begin, 1e-6)))))
    best = [float("inf")] * len(steps)
    for _ in range(rounds):
        for place, (step, count) in enumerate(zip(steps, counts)):
            together(0)
            begin = time.perf_counter()
            for _ in range(count):
                step()
            best[place] = min(best[place], (time.perf_counter() - begin) / count)
    return best


def reductions(libraries, communicator, mpi, together, seconds):
    """A line for each size: all_reduce of float32."""
    if communicator.rank == 0:
        print(f"{'all_reduce':>12} {'rushlight':>12} {'raw mpi4py':>12} {'gloo':>12}   of raw  of gloo")
    for size in SIZES:
        array = np.zeros(size // 4, np.float32)
        steps = [lambda array=array: communicator.Allreduce(mpi.IN_PLACE, array)]
        for library in libraries:
            tensor, dist = library.zeros(size // 4), library.distributed
            steps.append(lambda dist=dist, tensor=tensor: dist.all_reduce(tensor))
        raw, ours, gloo = (each * 1e6 for each in best_of_turns(steps, together, seconds))
        if communicator.rank == 0:
            name = f"{size >> 10} KB" if size < 1 << 20 else f"{size >> 20} MB"
            print(
                f"{name:>12} {ours:>9.0f} us {raw:>9.0f} us {gloo:>9.0f} us {raw / ours:>7.2f} {gloo / ours:>7.2f}",
                flush=True,
            )


def training(torch, name, wrap):
    """The step of a model, and the number of its parameters; ``wrap`` makes it a DistributedDataParallel."""
    torch.manual_seed(0)
    nn = torch.nn
    if name == "MLP":
        model, x = networks.mlp(torch, 784, 512, 512, 10), torch.randn(64, 784)
        loss = lambda made: nn.functional.cross_entropy(made, torch.arange(64) % 10)
    elif name == "CNN":
        model, x = networks.cnn28(torch), torch.randn(32, 1, 28, 28)
        loss = lambda made: nn.functional.cross_entropy(made, torch.arange(32) % 10)
    else:
        model, x = networks.decoder(torch, 64), torch.arange(8 * 64).view(8, 64) % 256
        loss = lambda made: made.square().mean()
    module = torch.nn.parallel.DistributedDataParallel(model) if wrap else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)

    def step():
        optimizer.zero_grad()
        loss(module(x)).backward()
        optimizer.step()

    return step, sum(each.numel() for each in model.parameters())


def trainings(libraries, communicator, together, seconds):
    """A line for each model: steps with and without reductions."""
    if communicator.rank == 0:
        print(f"\n{'step':>12} {'rushlight':>12} {'gloo':>12}   faster   alone  reduction   hidden")
    for name in ("MLP", "CNN", "GPT"):
        steps, count = [], 0
        for library in libraries:
            step, count = training(library, name, True)
            steps.append(step)
        steps.append(training(libraries[0], name, False)[0])
        flat = libraries[0].zeros(count)
        steps.append(lambda flat=flat: libraries[0].distributed.all_reduce(flat))
        ours, gloo, alone, reduction = (each * 1e3 for each in best_of_turns(steps, together, seconds))
        hidden = 1 - (ours - alone) / reduction
        if communicator.rank == 0:
            print(
                f"{name:>12} {ours:>9.2f} ms {gloo:>9.2f} ms {gloo / ours:>7.2f}x {alone:>7.2f} {reduction:>7.2f} ms {hidden:>8.0%}",
                flush=True,
            )


def work(seconds, first):
    """What each process does."""
    mpi = importlib.import_module("mpi4py.MPI")
    communicator = mpi.COMM_WORLD
    os.environ.update(RANK=str(communicator.rank), WORLD_SIZE=str(communicator.size), MASTER_ADDR="127.0.0.1")
    libraries = [importlib.import_module(name) for name in LIBRARIES]
    for library in libraries:
        library.set_num_threads(1)
        importlib.import_module(f"{library.__name__}.distributed").init_process_group("gloo")

    def together(number):
        return communicator.allreduce(number, op=mpi.MAX)

    if first:
        for thread in map(int, os.listdir("/proc/self/task")):
            os.sched_setscheduler(thread, os.SCHED_RR, os.sched_param(1))

    reductions(libraries, communicator, mpi, together, seconds)
    trainings(libraries, communicator, together, seconds)
    for library in libraries:
        library.distributed.destroy_process_group()


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--processes", type=int, default=2)
    arguments.add_argument("--seconds", type=float, default=0.3, help="for each number")
    arguments.add_argument(
        "--first", action="store_true", help="before all other jobs of a busy machine (as root): keep it short"
    )
    arguments.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.inside:
        work(given.seconds, given.first)
        return
    from rushlight.distributed.meeting import mpiexec

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [
        mpiexec(),
        "-n",
        str(given.processes),
        sys.executable,
        __file__,
        "--inside",
        *(["--first"] if given.first else []),
        "--seconds",
        str(given.seconds),
    ]
    subprocess.run(command, check=True, env={**os.environ, "MASTER_PORT": port, "OMP_NUM_THREADS": "1"})


if __name__ == "__main__":
    main()
