"""Ctrl-C within work that leaves something behind: kernels, files, training steps. Begun again, it comes out as if nothing had been."""

import gc
import os
import subprocess
import sys

import numpy as np
import pytest

import rushlight as torch
from interrupts import interrupted, of_package, switches
from rushlight.kernels.compiler.kernel import compiled
from rushlight.kernels.language.builder import Builder
from rushlight.kernels.language.program import Program
from rushlight.kernels.machine.cache import Cache
from rushlight.kernels.machine.host import host

pytestmark = [  # of a file that is interrupted between its opening and its block, and of generators that go
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
MOST = [20, pytest.param(200, marks=pytest.mark.slow)]


def at_places(run, most):
    """Interrupt ``run()`` at about ``most`` of its places in the package; yields after each."""
    end = 32
    while interrupted(run, end, of_package):
        yield end
        end *= 2
    for number in range(1, end, max(1, end // most)):
        if not interrupted(run, number, of_package):
            break
        yield number


def doubled(offset):
    b = Builder("doubled", [("x", "f64*"), ("n", "i64")])
    x, n = b.parameters
    with b.parallel(n // 64) as chunk, b.loop(chunk * 64, chunk * 64 + 64) as at:
        b.store(b.load(x, at.index) * 2.0 + float(offset), x, at.index)
    return Program("doubled", [b.function])


@pytest.mark.skipif(host() is None, reason="no generated kernels here")
@pytest.mark.parametrize("most", MOST)
def test_a_kernel_whose_making_was_interrupted_is_made_again(most):
    numbers = iter(range(10_000))
    key = None

    def make():
        nonlocal key
        offset = next(numbers)
        key = ("test interrupts", os.getpid(), most, offset), offset
        compiled(key[0], lambda: doubled(offset)).threaded(np.zeros(640), 640)

    make()
    expected = switches()
    for number in at_places(make, most):
        assert switches() == expected and gc.isenabled(), number
        x = np.ones(640)
        compiled(key[0], lambda: doubled(key[1])).threaded(x, 640)
        assert (x == 2 + key[1]).all(), number


@pytest.mark.parametrize("most", MOST)
def test_the_cache_of_kernels_holds_nothing_half(tmp_path, most):
    kept, number = Cache(tmp_path / "kernels"), 0

    def store():
        nonlocal number
        number += 1
        kept.store(f"key {number}", b"code" * 1000)

    store()
    for place in at_places(store, most):
        assert not list(kept.path.glob("*.part")), place
        assert kept.load(f"key {number}") in (None, b"code" * 1000)
        kept.store("after", b"right")
        assert Cache(kept.path).load("after") == b"right"


@pytest.mark.parametrize("most", MOST)
def test_loading_closes_its_files(tmp_path, most, monkeypatch):
    monkeypatch.setattr(
        sys, "unraisablehook", lambda told: None
    )  # pytest's keeps the frames, and the files in them, open
    path = tmp_path / "state.pth"
    state = {"weight": torch.arange(6.0).view(2, 3), "steps": [1, 2], "names": {"a": torch.ones(2)}}
    torch.save(state, path)
    for options in ({}, {"mmap": True}, {"weights_only": False}):
        torch.load(path, **options)
        gc.collect()
        before, expected = len(os.listdir("/proc/self/fd")), switches()
        for place in at_places(lambda options=options: torch.load(path, **options), most):
            assert switches() == expected, place
        gc.collect()
        assert len(os.listdir("/proc/self/fd")) == before
        assert torch.equal(torch.load(path, **options)["weight"], state["weight"])


@pytest.mark.parametrize("most", MOST)
@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "LBFGS"])
def test_an_interrupted_step_leaves_an_optimizer_that_goes_on(kind, most):
    layer = torch.nn.Linear(3, 2)
    options = {"SGD": {"momentum": 0.9}, "LBFGS": {"max_iter": 3}}.get(kind, {})
    optimizer = getattr(torch.optim, kind)(layer.parameters(), lr=0.01, **options)
    x = torch.linspace(-1, 1, 12).view(4, 3)

    def closure():
        optimizer.zero_grad()
        loss = layer(x).square().mean()
        loss.backward()
        return loss

    first = closure().item()
    optimizer.step(closure)
    expected = switches()
    for place in at_places(lambda: optimizer.step(closure), most):
        assert switches() == expected, place
        optimizer.step(closure)
        state = optimizer.state_dict()
        for kept in state["state"].values():
            for value in kept.values():
                assert not torch.is_tensor(value) or value.isfinite().all()
        optimizer.load_state_dict(state)
    assert closure().item() < first


LAUNCHES = """
import os, signal, threading
import rushlight as rl
rl.set_num_threads(3)
x = rl.linspace(-2, 2, 600_000)
a = rl.linspace(-1, 1, 300 * 400).view(300, 400)
wanted = x.sin().sum(), (a @ a.T).sum(), x.softmax(0).sum()
seen = 0
for number in range(25):
    try:
        threading.Timer(0.0007 * (number + 1), os.kill, (os.getpid(), signal.SIGINT)).start()
        while True:
            found = x.sin().sum(), (a @ a.T).sum(), x.softmax(0).sum()
            assert all(rl.equal(*pair) for pair in zip(found, wanted))
    except KeyboardInterrupt:
        seen += 1
    found = x.sin().sum(), (a @ a.T).sum(), x.softmax(0).sum()
    assert all(rl.equal(*pair) for pair in zip(found, wanted))
print(seen, sorted(thread.name for thread in threading.enumerate() if thread.name.startswith("rushlight-")))
"""


@pytest.mark.skipif(host() is None, reason="no generated kernels here")
def test_kernel_threads_serve_on_after_ctrl_c():
    done = subprocess.run([sys.executable, "-c", LAUNCHES], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == "25 ['rushlight-1', 'rushlight-2']"


SAVING = """
import os, signal, sys, threading
import rushlight as rl
path = sys.argv[1]
state = {str(i): rl.full((20_000,), float(i)) for i in range(10)}
rl.save(state, path)
for number in range(20):
    try:
        threading.Timer(0.0005 * (number + 1), os.kill, (os.getpid(), signal.SIGINT)).start()
        while True:
            rl.save(state, path)
            rl.load(path)
    except KeyboardInterrupt:
        pass
    assert os.listdir(os.path.dirname(path)) == ["state.pth"], os.listdir(os.path.dirname(path))
    assert all(rl.equal(value, state[name]) for name, value in rl.load(path).items())
"""


def test_files_are_whole_after_ctrl_c(tmp_path):
    path = str(tmp_path / "state.pth")
    done = subprocess.run([sys.executable, "-c", SAVING, path], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
