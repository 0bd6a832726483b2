"""How long kernels take to compile: a table with a row for each kernel of every family.

    python benchmarks/compile_times.py                     # every family, three processes
    python benchmarks/compile_times.py --rounds 5 --only winograd attention
    python benchmarks/compile_times.py --above 50          # kernels that take longer than so many milliseconds

Each round is a process of its own with an empty cache on disk, and one more with the cache that it left: there "cached"
is what finding, reading and loading the machine code takes. The process's first kernel brings in LLVM, and is told apart.
Times are in milliseconds: of building the loop program, of checking, expanding and simplifying it, of writing the IR, of
LLVM's reading it and generating code, of loading the code; the best of all rounds, and the median of the sum.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import contextmanager

PHASES = ("build", "simplify", "text", "generate", "load")
FAMILIES = {}


def family(function):
    """Register a function that takes the module and calls every kernel of its family once."""
    FAMILIES[function.__name__] = function
    return function


# ---------------------------------------------------------------- calls


@family
def elementwise(torch):
    x, y = torch.randn(300, 300), torch.randn(300, 300)
    functional = torch.nn.functional
    x + y, x * 2.0, x.t() + y, x + y[0], x.exp(), x.tanh(), x.sin(), x.abs().log(), x.abs() ** y, x.erfinv()
    torch.lgamma(x), torch.digamma(x), torch.where(x > 0, x, y), torch.relu(x), functional.gelu(x), functional.silu(x)
    x.to(torch.bfloat16).float(), x.half(), x.to(torch.int64), x.double().exp(), x.to(torch.int64) // 3
    x.bfloat16() * y.bfloat16(), torch.atan2(x, y), torch.fmod(x, y), torch.special.ndtri(x.sigmoid())
    a = torch.randn(300, 300, requires_grad=True)
    functional.gelu(a).sum().backward()
    torch.tanh(a).sum().backward()


@family
def reductions(torch):
    x = torch.randn(300, 400)
    for dims in ((), 0, 1):
        arguments = () if dims == () else (dims,)
        x.sum(*arguments), x.mean(*arguments), x.prod(*arguments), x.amax(*arguments), x.argmax(*arguments)
        x.std(*arguments), x.norm(dim=dims or None), (x > 0).any(*arguments)
    x.max(1), x.max(0), x.logsumexp(1), x.double().sum(), x.bfloat16().sum(1), x.to(torch.int64).sum(0)


@family
def softmax(torch):
    x = torch.randn(64, 8, 256, requires_grad=True)
    for dim in (-1, 1):
        torch.softmax(x, dim).sum().backward()
        torch.log_softmax(x, dim).sum().backward()


@family
def norms(torch):
    functional = torch.nn.functional
    x = torch.randn(16, 32, 20, 20, requires_grad=True)
    weight, bias = torch.ones(20, requires_grad=True), torch.zeros(20, requires_grad=True)
    functional.layer_norm(x, (20,), weight, bias).sum().backward()
    functional.rms_norm(x, (20,), weight).sum().backward()
    functional.group_norm(x, 4).sum().backward()
    layer = torch.nn.BatchNorm2d(32)
    layer(x).sum().backward()
    layer.eval()(x).sum().backward()


@family
def losses(torch):
    functional = torch.nn.functional
    x, y = torch.randn(128, 100, requires_grad=True), torch.rand(128, 100)
    targets = torch.randint(0, 100, (128,))
    functional.cross_entropy(x, targets).backward()
    functional.cross_entropy(x, y).backward()
    functional.cross_entropy(x, targets, label_smoothing=0.1).backward()
    functional.nll_loss(torch.log_softmax(x, 1), targets).backward()
    functional.mse_loss(x, y).backward()
    functional.smooth_l1_loss(x, y).backward()
    functional.huber_loss(x, y).backward()
    functional.binary_cross_entropy_with_logits(x, y).backward()
    functional.binary_cross_entropy(x.sigmoid(), y).backward()


@family
def scans(torch):
    x = torch.randn(200, 300)
    for dim in (0, 1):
        x.cumsum(dim), x.cumprod(dim), x.cummax(dim), x.cummin(dim), x.logcumsumexp(dim)


@family
def products(torch):
    for first, second in (((256, 256), (256, 256)), ((64, 784), (784, 512)), ((16, 64, 32), (16, 32, 64))):
        torch.randn(*first) @ torch.randn(*second)
        torch.randn(*first).double() @ torch.randn(*second).double()
        torch.randn(*first).bfloat16() @ torch.randn(*second).bfloat16()
    a, b = torch.randn(256, 256), torch.randn(256, 256)
    a.t() @ b, a @ b.t(), a.t() @ b.t(), a @ b[0], a.t() @ b[0], b[:1] @ a, torch.addmm(b[0], a, b)
    torch.randn(512, 8, 8) @ torch.randn(512, 8, 8)


@family
def linear(torch):
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        for rows, inputs, outputs in ((64, 784, 512), (1, 784, 512), (64, 512, 10), (1024, 128, 512)):
            layer = torch.nn.Linear(inputs, outputs, dtype=dtype)
            x = torch.randn(rows, inputs, dtype=dtype, requires_grad=True)
            layer(x).sum().backward()
            layer.weight.grad, x.grad = None, None
            torch.relu(layer(x)).pow(2).sum().backward()


@family
def convolutions(torch):
    functional = torch.nn.functional
    shapes = (((8, 3, 32, 32), (16, 3, 5, 5), 1, 1), ((8, 16, 32, 32), (32, 16, 3, 3), 2, 1))
    shapes += (((8, 16, 32, 32), (32, 16, 1, 1), 1, 1), ((8, 16, 33, 33), (32, 8, 3, 3), 1, 2))
    for source, weights, stride, groups in shapes:
        x, w = torch.randn(*source, requires_grad=True), torch.randn(*weights, requires_grad=True)
        functional.conv2d(x, w, torch.zeros(weights[0]), stride, 1, 1, groups).sum().backward()
    x, w = torch.randn(8, 16, 100, requires_grad=True), torch.randn(32, 16, 5, requires_grad=True)
    functional.conv1d(x, w).sum().backward()
    x, w = torch.randn(4, 8, 10, 10, 10, requires_grad=True), torch.randn(8, 8, 3, 3, 3, requires_grad=True)
    functional.conv3d(x, w).sum().backward()
    x, w = torch.randn(8, 16, 16, 16, requires_grad=True), torch.randn(16, 8, 4, 4, requires_grad=True)
    functional.conv_transpose2d(x, w, stride=2).sum().backward()


@family
def winograd(torch):
    for bias in (None, torch.zeros(64)):
        x, w = torch.randn(8, 64, 28, 28, requires_grad=True), torch.randn(64, 64, 3, 3, requires_grad=True)
        torch.nn.functional.conv2d(x, w, bias, padding=1).sum().backward()


@family
def depthwise(torch):
    for taps, stride in ((3, 1), (3, 2), (5, 1)):
        x, w = torch.randn(8, 32, 28, 28, requires_grad=True), torch.randn(32, 1, taps, taps, requires_grad=True)
        torch.nn.functional.conv2d(x, w, None, stride, 1, 1, 32).sum().backward()


@family
def pooling(torch):
    functional = torch.nn.functional
    x = torch.randn(8, 16, 32, 32, requires_grad=True)
    for size, stride in ((2, 2), (3, 2), (3, 1)):
        functional.max_pool2d(x, size, stride).sum().backward()
        functional.avg_pool2d(x, size, stride).sum().backward()
    functional.adaptive_avg_pool2d(x, 7).sum().backward()
    functional.adaptive_max_pool2d(x, 7).sum().backward()
    functional.max_pool2d(x, 2, return_indices=True)


@family
def attention(torch):
    for size in (32, 64):
        for causal in (False, True):
            q, k, v = (torch.randn(2, 4, 128, size, requires_grad=True) for _ in range(3))
            torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal).sum().backward()
    mask = torch.zeros(128, 128)
    torch.nn.functional.scaled_dot_product_attention(q, k, v, mask).sum().backward()


@family
def recurrent(torch):
    for kind in ("LSTM", "GRU", "RNN"):
        for samples, inputs, units in ((32, 64, 128), (1, 64, 128), (8, 16, 32)):
            layer = getattr(torch.nn, kind)(inputs, units, batch_first=True)
            layer(torch.randn(samples, 12, inputs, requires_grad=True))[0].sum().backward()


@family
def optimizers(torch):
    for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta"):
        parameter = torch.randn(20_000, requires_grad=True)
        parameter.sum().backward()
        getattr(torch.optim, name)([parameter], lr=0.01).step()
    torch.optim.SGD([parameter], lr=0.01, momentum=0.9, weight_decay=0.1).step()


@family
def picking(torch):
    x, rows = torch.randn(500, 64), torch.randint(0, 500, (1000,))
    weight = torch.randn(500, 64, requires_grad=True)
    torch.nn.functional.embedding(rows, weight).sum().backward()
    torch.nn.functional.embedding_bag(rows.reshape(50, 20), weight).sum().backward()
    x[rows], x.index_select(0, rows), x.index_select(1, rows % 64), x.index_add(0, rows, torch.randn(1000, 64))
    x.index_copy(0, torch.randperm(500), torch.randn(500, 64)), x.index_fill(0, rows, 1.0)
    places = torch.randint(0, 64, (500, 64))
    x.gather(1, places), x.scatter(1, places, x), x.scatter_add(1, places, x), x.scatter(1, places, 1.0)
    x[rows, rows % 64], x.index_put((rows, rows % 64), torch.randn(1000)), x[x > 0], x.nonzero()
    torch.searchsorted(torch.arange(1000.0), torch.randn(5000)), torch.bucketize(x, torch.arange(100.0))
    torch.bincount(torch.randint(0, 100, (5000,))), torch.histc(x)


@family
def orders(torch):
    x = torch.randn(300, 300)
    x.sort(), x.sort(0), x.reshape(-1).sort(), x.argsort(), x.topk(5), x.reshape(-1).topk(10), x.mode(), x.unique()
    x.median(), x.kthvalue(5), x.to(torch.int64).sort(), x.double().sort()


@family
def layouts(torch):
    functional = torch.nn.functional
    x = torch.randn(8, 16, 32, 32, requires_grad=True)
    functional.pad(x, (1, 1, 1, 1)).sum().backward()
    functional.pad(x, (1, 1, 1, 1), "reflect").sum().backward()
    with torch.no_grad():
        torch.cat([x, x], 1), torch.stack([x, x]), x.transpose(1, 2).contiguous(), x.tril(), x.masked_fill(x > 0, 0.0)
        x.permute(3, 2, 1, 0).contiguous(), x.clone(), torch.zeros(600, 600), torch.arange(100_000), functional.glu(x)
        torch.linspace(0, 1, 100_000)


@family
def numbers(torch):
    torch.rand(100_000), torch.randn(100_000), torch.randint(0, 10, (100_000,)), torch.randperm(10_000)
    torch.bernoulli(torch.rand(100_000)), torch.nn.functional.dropout(torch.rand(100_000))
    torch.rand(100_000).exponential_()


@family
def distances(torch):
    x, y = torch.randn(200, 32, requires_grad=True), torch.randn(300, 32, requires_grad=True)
    for power in (1.0, 2.0, 3.0, float("inf")):
        torch.cdist(x, y, power).sum().backward()
    torch.nn.functional.pdist(x).sum().backward()


@family
def transforms(torch):
    x = torch.randn(40, 60, 64)
    for numbers in (x, x.double()):
        spectra = torch.fft.rfft2(numbers)
        torch.fft.irfft2(spectra), torch.fft.fft(spectra, dim=1), torch.fft.ifft(spectra, n=1024)
        torch.fft.fft(torch.complex(numbers, numbers).reshape(-1)), torch.fft.rfft(numbers.reshape(-1))


# ---------------------------------------------------------------- one process


def measure(names):
    """Call the families' kernels; print a line of JSON for each that was made: family, name, times of the phases."""
    began = time.perf_counter()
    import rushlight as torch
    from rushlight.kernels.compiler import kernel
    from rushlight.kernels.compiler import lowering as compiler
    from rushlight.kernels.machine import host

    imported = time.perf_counter()
    times = defaultdict(float)

    @contextmanager
    def timed(phase):
        began = time.perf_counter()
        try:
            yield
        finally:
            times[phase] += time.perf_counter() - began

    def timing(phase, function):
        def wrapped(*arguments):
            with timed(phase):
                return function(*arguments)

        return wrapped

    this = host.host()
    kernel._shared()  # LLVM, worker threads, and what all programs call
    first = time.perf_counter()
    print(json.dumps(["", "first", {"import": imported - began, "start": first - imported}]))
    for name in ("verify", "expand", "simplify"):
        setattr(compiler, name, timing("simplify", getattr(compiler, name)))
    compiler.emit_parts = timing("text", compiler.emit_parts)
    this.compile, this.load = timing("generate", this.compile), timing("load", this.load)
    make = kernel._make

    def making(key, build):
        times.clear()
        with timed("whole"):
            found = make(key, timing("build", build))
        print(json.dumps([name, " ".join(map(str, key)), times]))
        return found

    kernel._make = making
    torch.manual_seed(0)
    for name in names:
        FAMILIES[name](torch)


# ---------------------------------------------------------------- the table


def run(names, cache):
    """The lines that a process with this cache prints."""
    environment = os.environ | {"RUSHLIGHT_CACHE": cache}
    command = [sys.executable, os.path.abspath(__file__), "--side", "--only", *names]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    return [json.loads(line) for line in output.splitlines()]


def collect(names, rounds):
    """(compiled, cached): dicts from (family, kernel) to a list with the times of each round."""
    compiled, cached = defaultdict(list), defaultdict(list)
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            for found in (compiled, cached):
                for name, kernel, times in run(names, cache):
                    found[name, kernel].append({phase: 1e3 * seconds for phase, seconds in times.items()})
    return compiled, cached


def table(compiled, cached, above):
    """The rows of the table, as Markdown."""
    yield f"| family | kernel | {' | '.join(PHASES)} | best | median | cached |"
    yield "|---|---|" + "---:|" * (len(PHASES) + 3)
    for (name, kernel), rounds in compiled.items():
        whole = [times["whole"] for times in rounds]
        if min(whole) < above:
            continue
        best = min(rounds, key=lambda times: times["whole"])
        loaded = min(times["whole"] for times in cached.get((name, kernel), [{"whole": float("nan")}]))
        phases = " | ".join(f"{best.get(phase, 0):.1f}" for phase in PHASES)
        yield f"| {name} | {kernel[:60]} | {phases} | {min(whole):.1f} | {statistics.median(whole):.1f} | {loaded:.2f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(FAMILIES), default=list(FAMILIES), metavar="FAMILY")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--above", type=float, default=0.0)
    parser.add_argument("--side", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        return measure(options.only)
    compiled, cached = collect(options.only, options.rounds)
    firsts = [found.pop(("", "first")) for found in (compiled, cached)]
    for title, rounds in zip(("nothing on disk", "everything on disk"), firsts):
        parts = (f"{part} {min(times[part] for times in rounds):.1f}" for part in ("import", "start"))
        print(f"{title}: {', '.join(parts)} ms")
    for row in table(compiled, cached, options.above):
        print(row)


if __name__ == "__main__":
    main()
