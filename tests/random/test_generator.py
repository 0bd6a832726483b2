"""Generator: seeds, states, copies, locks; the module functions; fork_rng."""

import copy
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import rushlight.random as module
from rushlight.random import Generator, default_generator
from rushlight.random import distributions as draw


def numbers(generator, count=5):
    return draw.rand((count,), generator=generator).tolist()


def words(state):
    return int(state[8:12].view(np.int32)[0]), int(state[16:24].view(np.uint64)[0])


def test_a_new_generator_has_pytorchs_default_seed():
    assert Generator().initial_seed() == 67280421310721
    assert str(Generator("cpu").device) == "cpu"
    assert repr(Generator()).startswith("<torch._C.Generator object at 0x")


def test_manual_seed_returns_the_generator_and_wraps_negative_seeds():
    generator = Generator()
    assert generator.manual_seed(-1) is generator
    assert generator.initial_seed() == 2**64 - 1
    assert numbers(generator) == numbers(Generator().manual_seed(2**64 - 1))
    assert numbers(Generator().manual_seed(2**32 + 5)) == numbers(Generator().manual_seed(5))


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1])
def test_seeds_outside_64_bits(seed):
    with pytest.raises(ValueError, match=r"^Overflow when unpacking long long\nhint: "):
        Generator().manual_seed(seed)
    with pytest.raises(ValueError, match=r"^Overflow when unpacking long long\n"):
        module.manual_seed(seed)


def test_seeds_that_are_no_ints():
    for seed, name in ((1.5, "float"), ("a", "str"), (True, "bool")):
        with pytest.raises(RuntimeError, match=f"^manual_seed expected a long, but got {name}\n"):
            Generator().manual_seed(seed)
    with pytest.raises(TypeError, match=r"^an integer is required\n"):
        Generator().manual_seed(np.int64(4))
    assert module.manual_seed(3.7) is default_generator
    assert module.initial_seed() == 3


def test_seed_comes_from_the_operating_system():
    generator = Generator()
    first, second = generator.seed(), generator.seed()
    assert first != second == generator.initial_seed()
    assert module.seed() == module.initial_seed()


def test_state_counts_words_as_pytorch_does():
    generator = Generator().manual_seed(5)
    assert words(generator.state_bytes()) == (1, 0)
    for count, expected in ((1, (624, 1)), (622, (2, 623)), (1, (1, 624)), (1, (624, 1)), (3, (621, 4))):
        draw.rand((count,), generator=generator)
        assert words(generator.state_bytes()) == expected


@pytest.mark.parametrize("drawn", [0, 1, 7, 623, 624, 625, 5000])
def test_state_round_trip(drawn):
    generator = Generator().manual_seed(11)
    draw.rand((drawn,), generator=generator)
    draw.randn((1,), generator=generator)
    state = generator.state_bytes()
    expected = numbers(generator, 2000), draw.randn((5,), generator=generator).tolist()
    other = Generator()
    other.set_state_bytes(state)
    assert (other.state_bytes() == state).all()
    assert (numbers(other, 2000), draw.randn((5,), generator=other).tolist()) == expected


def test_the_waiting_normal_number_travels_with_the_state():
    generator = Generator().manual_seed(2)
    draw.randn((1,), generator=generator)
    clone = generator.clone_state()
    assert draw.randn((2,), generator=clone).tolist() == draw.randn((2,), generator=generator).tolist()
    generator.manual_seed(2)
    assert generator.next_normal is None


def test_copies_draw_the_same_numbers():
    generator = Generator().manual_seed(3)
    draw.randn((3,), generator=generator)
    copies = [pickle.loads(pickle.dumps(generator)), copy.deepcopy(generator), generator.clone_state()]
    expected = numbers(generator)
    assert all(numbers(other) == expected for other in copies)


def test_bad_states():
    generator = Generator()
    good = generator.state_bytes()
    with pytest.raises(TypeError, match=r"^expected a torch.ByteTensor, but got int\n"):
        generator.set_state(3)
    with pytest.raises(TypeError, match=r"^RNG state must be a torch.ByteTensor\n"):
        generator.set_state_bytes(good.astype(np.int64))
    with pytest.raises(
        RuntimeError, match=r"^Expected a CPUGeneratorImplState of size 5056 but found .* size to be 5\n"
    ):
        generator.set_state_bytes(good[:5])
    with pytest.raises(RuntimeError, match=r"^RNG state must be contiguous\n"):
        generator.set_state_bytes(np.repeat(good, 2)[::2])
    with pytest.raises(RuntimeError, match=r"^Invalid mt19937 state\n"):
        generator.set_state_bytes(np.zeros(5056, np.uint8))


def test_other_devices_and_methods_of_other_generators():
    for device, line in (
        ("cuda", "Cannot get CUDA generator"),
        ("mps", "Cannot execute getNewGenerator"),
        ("meta", "META "),
    ):
        with pytest.raises(RuntimeError, match=f"^{line}"):
            Generator(device)
    with pytest.raises(RuntimeError, match=r"^CPU Generator does not use offset\n"):
        Generator().get_offset()
    with pytest.raises(TypeError, match=r"^argument 'generator' must be torch.Generator, not int\n"):
        draw.rand((3,), generator=3)


def test_fork_rng_leaves_no_trace():
    module.manual_seed(1)
    state = default_generator.state_bytes()
    with module.fork_rng():
        draw.randn((100,))
        module.manual_seed(9)
    assert (default_generator.state_bytes() == state).all()
    with module.fork_rng(enabled=False):
        draw.rand((1,))
    assert (default_generator.state_bytes() != state).any()


def test_threads_share_one_stream_without_loss():
    generator = Generator().manual_seed(0)
    found = []

    def work():
        for _ in range(50):
            found.append(draw.rand((40,), generator=generator))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = draw.rand((8000,), generator=Generator().manual_seed(0))
    assert sorted(np.concatenate(found).tolist()) == sorted(expected.tolist())


def test_numpy_random_is_imported_by_the_first_draw():
    program = (
        "import sys, rushlight.random as r\n"
        "r.manual_seed(0)\n"
        "before = 'numpy.random' in sys.modules\n"
        "r.distributions.rand((2,))\n"
        "print(before, 'numpy.random' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False", "True"]


INTERRUPTED_IMPORT = """
import sys
import rushlight as torch

class Interruption:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interruption())
try:
    torch.rand(3)
except KeyboardInterrupt:
    del sys.meta_path[0]
    torch.manual_seed(0)
    print(torch.rand(1).item())
"""


@pytest.mark.parametrize("part", ["", "._common", "._pickle", "._generator", ".mtrand"])
def test_ctrl_c_in_the_first_import_of_numpys_generators(part):
    """Whichever of its modules was being imported: the next draw imports what is missing."""
    command = [sys.executable, "-c", INTERRUPTED_IMPORT, f"numpy.random{part}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("0.49625658988")
