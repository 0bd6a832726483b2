"""Runs on worker threads: the same results for any number of threads, from several Python threads, after fork, at exit."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import rushlight as rl
from rushlight.base import processors
from rushlight.kernels.compiler.kernel import compiled
from rushlight.kernels.language.builder import Builder
from rushlight.kernels.language.program import Program
from rushlight.kernels.machine.host import host

pytestmark = pytest.mark.skipif(host() is None, reason="no generated kernels here")
CHUNK = 64
F = rl.nn.functional


def sums_program():
    """Three phases in a sequential loop: scale every element, sum chunks, add the chunk sums to the first element."""
    names = [("x", "f64*"), ("sums", "f64*"), ("n", "i64"), ("rounds", "i64")]
    b = Builder("sums", names)
    x, sums, n, rounds = b.parameters
    with b.loop(0, rounds):
        with b.parallel(n // CHUNK) as chunk, b.loop(chunk * CHUNK, chunk * CHUNK + CHUNK) as at:
            b.store(b.load(x, at.index) * 1.5 + 1.0, x, at.index)
        with b.parallel(n // CHUNK) as chunk:
            with b.loop(0, CHUNK, carry=[b.constant(0.0, "f64")]) as at:
                at.carry[0] = at.carry[0] + b.load(x, chunk * CHUNK + at.index)
            b.store(at.results[0], sums, chunk)
        with b.parallel(1):
            with b.loop(0, n // CHUNK, carry=[b.constant(0.0, "f64")]) as at:
                at.carry[0] = at.carry[0] + b.load(sums, at.index)
            b.store(at.results[0] * 1e-6, x, 0)
    return Program("sums", [b.function])


def expected(x, rounds):
    x = x.copy()
    for _ in range(rounds):
        x = x * 1.5 + 1.0
        chunks = [np.add.accumulate(c)[-1] for c in x.reshape(-1, CHUNK)]
        x[0] = np.add.accumulate(np.array(chunks))[-1] * 1e-6
    return x


@pytest.fixture
def kernel():
    before = rl.get_num_threads()
    yield compiled(("test sums",), sums_program)
    rl.set_num_threads(before)


def run(function, n=64 * 200, rounds=12):
    x = np.linspace(-1, 1, n)
    function(x, np.zeros(n // CHUNK), n, rounds)
    return x


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_phases_wait_for_each_other(kernel, threads):
    rl.set_num_threads(threads)
    wanted = expected(np.linspace(-1, 1, 64 * 200), 12)
    for _ in range(20):
        np.testing.assert_array_equal(run(kernel.threaded), wanted)
    np.testing.assert_array_equal(run(kernel.alone), wanted)


def test_several_python_threads_at_once(kernel):
    rl.set_num_threads(4)
    wanted = expected(np.linspace(-1, 1, 64 * 200), 12)
    wrong = []

    def work():
        for _ in range(50):
            if not np.array_equal(run(kernel.threaded), wanted):
                wrong.append(threading.current_thread().name)

    callers = [threading.Thread(target=work) for _ in range(5)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


def gradients(function, *shapes):
    """What a call gives for random operands of these shapes, and the gradients of it."""
    operands = [rl.randn(shape, requires_grad=True) for shape in shapes]
    found = function(*operands)
    return [found, *rl.autograd.grad(found, operands, rl.randn_like(found))]


def adam_steps():
    parameters = [rl.nn.Parameter(rl.randn(shape)) for shape in ((300, 500), (7,))]
    optimizer = rl.optim.Adam(parameters)
    for _ in range(3):
        for parameter in parameters:
            parameter.grad = parameter.detach() ** 2
        optimizer.step()
    return parameters


def recurrent(kind):
    layer, x = getattr(rl.nn, kind)(40, 48), rl.randn(9, 33, 40, requires_grad=True)
    found, _ = layer(x)
    found.backward(rl.randn_like(found))
    return [found, x.grad, *(parameter.grad for parameter in layer.parameters())]


def embedding():
    rows = rl.randint(0, 50, (3000,))
    return gradients(lambda weight: F.embedding(rows, weight), (50, 64))


def cross_entropy():
    classes = rl.randint(0, 300, (257,))
    return gradients(lambda x: F.cross_entropy(x, classes), (257, 300))


CALLS = {
    "formula": lambda: gradients(F.gelu, (300, 1000)),
    "broadcast": lambda: gradients(lambda x, y: x * y, (300, 1000), (1000,)),
    "strided": lambda: gradients(lambda x, y: x.T + y, (301, 507), (507, 301)),
    "sum": lambda: [rl.randn(1001, 407).sum(dim) for dim in (None, 0, 1)],
    "var": lambda: gradients(lambda x: x.var(1), (301, 1003)),
    "argmax": lambda: [rl.randn(1001, 407).argmax(dim) for dim in (None, 0, 1)],
    "cumsum": lambda: [rl.randn(301, 1003).cumsum(dim) for dim in (0, 1)],
    "softmax": lambda: gradients(lambda x: x.softmax(-1), (301, 1003)),
    "layer_norm": lambda: gradients(lambda x, w, b: F.layer_norm(x, (503,), w, b), (501, 503), (503,), (503,)),
    "batch_norm": lambda: gradients(
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), (9, 33, 21, 20), (33,), (33,)
    ),
    "cross_entropy": cross_entropy,
    "loss": lambda: gradients(F.mse_loss, (301, 1003), (301, 1003)),
    "embedding": embedding,
    "product": lambda: gradients(rl.matmul, (203, 457), (457, 311)),
    "long product": lambda: gradients(rl.matmul, (5, 9001), (9001, 7)),
    "batched product": lambda: gradients(rl.bmm, (33, 65, 47), (33, 47, 31)),
    "linear": lambda: gradients(F.linear, (65, 784), (301, 784), (301,)),
    "vector": lambda: gradients(rl.mv, (1003, 501), (501,)),
    "convolution": lambda: gradients(lambda x, w, b: F.conv2d(x, w, b, 1, 1), (9, 17, 27, 29), (33, 17, 3, 3), (33,)),
    "strided convolution": lambda: gradients(lambda x, w: F.conv2d(x, w, None, 2, 1), (5, 16, 31, 31), (24, 16, 3, 3)),
    "depthwise": lambda: gradients(lambda x, w: F.conv2d(x, w, padding=1, groups=32), (4, 32, 28, 28), (32, 1, 3, 3)),
    "max_pool": lambda: gradients(lambda x: F.max_pool2d(x, 3, 2), (9, 33, 29, 29)),
    "avg_pool": lambda: gradients(lambda x: F.avg_pool2d(x, 2), (9, 33, 28, 28)),
    "attention": lambda: gradients(F.scaled_dot_product_attention, *[(3, 5, 131, 40)] * 3),
    "lstm": lambda: recurrent("LSTM"),
    "gru": lambda: recurrent("GRU"),
    "adam": adam_steps,
    "random numbers": lambda: [rl.rand(100_001), rl.randn(100_001), F.dropout(rl.ones(100_001))],
}


@pytest.mark.parametrize("name", CALLS)
def test_no_bit_depends_on_the_number_of_threads(name):
    before, found = rl.get_num_threads(), []
    try:
        for threads in (1, 2, 3, 4):
            rl.set_num_threads(threads)
            rl.manual_seed(3)
            found.append([each.detach().numpy().tobytes() for each in CALLS[name]()])
    finally:
        rl.set_num_threads(before)
    assert all(each == found[0] for each in found)


SCRIPT = """
import os, sys, numpy as np
import rushlight as rl
rl.set_num_threads(3)
sys.path.insert(0, {folder!r})
from test_kernel_threads import compiled, expected, run, sums_program
kernel = compiled(("test sums",), sums_program)
wanted = expected(np.linspace(-1, 1, 64 * 200), 12)
assert np.array_equal(run(kernel.threaded), wanted)
{more}
print("done")
"""
FORK = """
children = []
for _ in range(3):
    child = os.fork()
    if not child:
        ok = all(np.array_equal(run(kernel.threaded), wanted) for _ in range(20))
        os._exit(0 if ok else 1)
    children.append(child)
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
assert np.array_equal(run(kernel.threaded), wanted)
"""
EXIT_WHILE_BUSY = """
import threading
def forever():
    while True: run(kernel.threaded)
threading.Thread(target=forever, daemon=True).start()
"""


@pytest.mark.parametrize("more", ["", FORK, EXIT_WHILE_BUSY], ids=["plain", "fork", "exit-while-busy"])
@pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX only")
def test_process_ends_and_forks(more):
    script = SCRIPT.format(folder=os.path.dirname(__file__), more=more)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "done"), done.stderr


def test_number_of_threads_is_checked():
    with pytest.raises(RuntimeError, match="expects a positive integer"):
        rl.set_num_threads(0)


def test_default_threads(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert processors.default_threads() == 5
    monkeypatch.setenv("RUSHLIGHT_NUM_THREADS", "7")
    assert processors.default_threads() == 7
    monkeypatch.setenv("RUSHLIGHT_NUM_THREADS", "many")
    assert processors.default_threads() == 5
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert processors.default_threads() == processors.usable_cores()


def test_quota_of_a_container(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2, 3}, raising=False)
    files = {}
    monkeypatch.setattr(processors, "_read", files.get)
    assert processors.usable_cores() == 4
    files["/sys/fs/cgroup/cpu.max"] = "150000 100000"
    assert processors.usable_cores() == 2
    files["/sys/fs/cgroup/cpu.max"] = "max 100000"
    for cpu in range(4):
        files[f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"] = "0,2" if cpu % 2 == 0 else "1,3"
    assert processors.usable_cores() == 2
