"""How training scales over processes: measured, fitted by a model of latency and bandwidth, simulated, and carried on to many machines.

    python benchmarks/scaling.py            measures all_reduce and a GPT's step at 1, 2, 4 and 8 processes here, and fits the model
    python benchmarks/scaling.py --paper    the step on a described network, up to 1,024 machines; measures nothing

docs/scaling.md explains the model and shows what came out.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import subprocess
import sys
import time
from typing import NamedTuple

COUNTS = (2, 4, 8)
SIZES = [4 << 10, 64 << 10, 1 << 20, 4 << 20]  # bytes
BUCKET = 1 << 20


class Network(NamedTuple):
    """What carries messages: seconds for a message of nothing, and for each byte; ``offloaded``: without the processor's time."""

    latency: float
    per_byte: float
    offloaded: bool = False

    def all_reduce(self, size, count):
        """Seconds of an all_reduce of ``size`` bytes by ``count`` processes: latencies of a tree up and down, bytes of a ring."""
        if count == 1:
            return 0.0
        return 2 * self.latency * math.ceil(math.log2(count)) + self.per_byte * size * 2 * (count - 1) / count


def simulate(forward, backward, buckets, network, count):
    """(seconds of a step, of it reductions that nothing hides): buckets of given bytes are ready evenly along backward.

    A network that is offloaded works on one bucket after the other while backward goes on; else the processor does both.
    """
    now, free = forward, 0.0
    for size in buckets:
        now += backward / len(buckets)
        cost = network.all_reduce(size, count)
        if network.offloaded:
            free = max(now, free) + cost
        else:
            now += cost
    end = max(now, free)
    return end, end - forward - backward


class Machine(NamedTuple):
    """A machine's own network, where more processes than cores take turns: each round of messages waits ``turn`` seconds for them."""

    network: Network
    cores: int
    turn: float = 0.0

    def seen_by(self, count):
        """The network as so many processes see it."""
        turns = max(1.0, count / self.cores)
        latency = self.network.latency * turns + (self.turn if count > self.cores else 0.0)
        return Network(latency, self.network.per_byte * turns)

    def error(self, measured):
        """The mean relative error for ``{(size, count): seconds}``."""
        errors = [abs(self.seen_by(n).all_reduce(size, n) / seconds - 1) for (size, n), seconds in measured.items()]
        return sum(errors) / len(errors)


def fit(measured, cores):
    """The machine that explains ``{(size, count): seconds}`` best: its network first, then the turns of those that share cores."""
    alone = {key: seconds for key, seconds in measured.items() if key[1] <= cores} or measured
    machines = (
        Machine(Network(10 ** (a / 20) * 1e-6, 10 ** (b / 20) * 1e-11), cores) for a in range(80) for b in range(80)
    )
    best = min(machines, key=lambda machine: machine.error(alone))
    turns = (best._replace(turn=10 ** (place / 20) * 1e-6) for place in range(100))
    return min((best, *turns), key=lambda machine: machine.error(measured))


def inside():
    """What each process measures; rank 0 prints it."""
    import networks

    torch = importlib.import_module("rushlight")
    dist = torch.distributed
    torch.set_num_threads(1)
    dist.init_process_group("mpi")
    found = {"count": dist.get_world_size(), "reductions": {}}
    for size in SIZES:
        tensor = torch.zeros(size // 4)
        found["reductions"][size] = best_of(lambda tensor=tensor: dist.all_reduce(tensor), 20, dist.barrier)
    torch.manual_seed(0)
    model = networks.decoder(torch, 64)
    module = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=BUCKET / 2**20)
    x = torch.arange(8 * 64).view(8, 64) % 256
    found["bytes"] = 4 * sum(each.numel() for each in model.parameters())

    def step(module):
        model.zero_grad()
        module(x).square().mean().backward()

    found["alone"] = best_of(lambda: step(model), 4, dist.barrier)
    found["together"] = best_of(lambda: step(module), 4, dist.barrier)
    found["forward"] = best_of(lambda: module(x), 4, dist.barrier)
    if dist.get_rank() == 0:
        print(json.dumps(found))
    dist.destroy_process_group()


def best_of(act, count, line_up):
    """The best time of a call, in seconds."""
    best = math.inf
    for _ in range(3):
        act()
    for _ in range(count):
        line_up()
        begin = time.perf_counter()
        act()
        best = min(best, time.perf_counter() - begin)
    return best


def measure():
    """Measure at 1, 2, 4 and 8 processes, fit, and compare the simulated steps with the measured ones."""
    from rushlight.distributed.meeting import mpiexec

    cores, results = len(os.sched_getaffinity(0)), []
    for count in (1, *COUNTS):
        command = [mpiexec(), "-n", str(count), sys.executable, __file__, "--inside"]
        told = subprocess.run(
            command, capture_output=True, text=True, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
        )
        results.append(json.loads(told.stdout))
    measured = {
        (int(size), each["count"]): seconds for each in results[1:] for size, seconds in each["reductions"].items()
    }
    machine = fit(measured, cores)
    network = machine.network
    print(
        f"{cores} cores; latency {network.latency * 1e6:.1f} us, {1 / network.per_byte / 1e9:.2f} GB/s, "
        f"turns of {machine.turn * 1e3:.1f} ms, mean error {machine.error(measured):.0%}"
    )
    for (size, count), seconds in measured.items():
        model = machine.seen_by(count).all_reduce(size, count)
        print(f"  all_reduce of {size >> 10:>5} KB by {count}: {seconds * 1e6:>8.0f} us, model {model * 1e6:>8.0f} us")
    for each in results[1:]:
        count = each["count"]
        buckets = [BUCKET] * (each["bytes"] // BUCKET) + [each["bytes"] % BUCKET]
        forward, backward = each["forward"], each["alone"] - each["forward"]
        model, exposed = simulate(forward, backward, buckets, machine.seen_by(count), count)
        print(
            f"  step of a GPT by {count}: alone {each['alone'] * 1e3:.1f} ms, together {each['together'] * 1e3:.1f} ms, "
            f"simulated {model * 1e3:.1f} ms, of it {exposed * 1e3:.1f} ms reduction"
        )


def paper():
    """The step of a network of 350 million parameters on machines of 0.5 TFLOP/s, joined by 100 Gbit/s that work by themselves."""
    network = Network(latency=5e-6, per_byte=1 / 12.5e9, offloaded=True)
    parameters, speed = 350e6, 0.5e12
    buckets = [25 << 20] * int(4 * parameters // (25 << 20))
    batches = (2048, 256, 64, 16)
    print(
        "machines  "
        + "".join(f"{tokens:>7} tokens" for tokens in batches)
        + "   (efficiency, by tokens a machine has in a step)"
    )
    for count in (1, 2, 8, 32, 128, 512, 1024):
        line = f"{count:>8}  "
        for tokens in batches:
            forward, backward = (share * parameters * tokens / speed for share in (2, 4))
            step, _ = simulate(forward, backward, buckets, network, count)
            line += f"{(forward + backward) / step:>14.1%}"
        print(line)
    whole = sum(network.all_reduce(size, 1024) for size in buckets)
    print(
        f"reductions of 1,024 machines take {whole:.3f} s: backward is as long with {whole / 4 / parameters * speed:.0f} tokens a machine"
    )


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--paper", action="store_true")
    arguments.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    inside() if given.inside else paper() if given.paper else measure()


if __name__ == "__main__":
    main()
