"""``torch.Generator``: one stream of random numbers with its seed, its state and its lock."""

from __future__ import annotations

import operator
import os
from _thread import RLock
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..base.device import CPU, DeviceLike, device
from ..base.errors import hinted, kind_name
from .mersenne import BLOCK, MersenneTwister

if TYPE_CHECKING:
    from ..tensor import Tensor

STATE_BYTES = 5056
_STATE = np.dtype(
    {
        "names": ["seed", "left", "seeded", "next", "key", "normal", "normal_valid", "float_normal", "float_valid"],
        "formats": ["u8", "i4", "i4", "u8", ("u8", BLOCK), "f8", "i4", "f4", "u1"],
        "offsets": [0, 8, 12, 16, 24, 5024, 5040, 5048, 5052],
        "itemsize": STATE_BYTES,
    }
)
_DEFAULT_SEED = 67280421310721


def _as_is(array):
    return array


_wrap_state = _unwrap_state = _as_is


def use_tensors(wrap: Any, unwrap: Any) -> None:
    """Let ``get_state`` return ``wrap(uint8 array)`` and ``set_state`` read ``unwrap(state)``, for the tensor room."""
    global _wrap_state, _unwrap_state
    _wrap_state, _unwrap_state = wrap, unwrap


class Generator:
    """A stream of random numbers, the same numbers as ``torch.Generator`` on the CPU for the same seed.

    ``Generator(device="cpu")`` starts from PyTorch's default seed 67280421310721. All methods may be called from
    several threads; ``lock`` makes one draw of many numbers indivisible.

    >>> import rushlight as torch
    >>> generator = torch.Generator().manual_seed(0)
    >>> torch.rand(2, generator=generator)
    tensor([0.4963, 0.7682])
    """

    __slots__ = ("__weakref__", "_float_normal", "_seed", "engine", "lock", "next_normal")

    def __init__(self, device: DeviceLike = "cpu") -> None:
        _check_device(device)
        self.lock = RLock()
        self._restart(_DEFAULT_SEED)

    def _restart(self, seed):
        self._seed = seed
        self.engine = MersenneTwister(seed)
        self.next_normal = None  # the second half of a Box-Muller pair, waiting for the next scalar draw
        self._float_normal = (0.0, 0)

    @property
    def device(self) -> device:
        """Where the generator draws: always ``device(type='cpu')``."""
        return CPU

    def manual_seed(self, seed: int) -> Self:
        """Start the stream of ``seed``, an int in [-2**63, 2**64) (negative ones count from 2**64), and return self."""
        if type(seed) is not int:
            raise _not_a_long(seed)
        self._reseed(_checked_seed(seed))
        return self

    def _reseed(self, seed):
        with self.lock:
            self._seed = seed
            self.engine.seed(seed)
            self.next_normal = None
            self._float_normal = (0.0, 0)

    def seed(self) -> int:
        """Start from a seed of the operating system's, and return that seed: an int in [0, 2**64)."""
        seed = int.from_bytes(os.urandom(8), "little")
        self._reseed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed that the stream was started from, an int in [0, 2**64)."""
        return self._seed

    def state_bytes(self) -> Any:
        """The state as 5056 uint8 numbers in PyTorch's binary layout: ``torch.Generator.set_state`` takes them."""
        state = np.zeros(1, _STATE)
        with self.lock:
            record = state[0]
            record["key"], record["next"], record["left"] = self.engine.key()
            record["seed"], record["seeded"] = self._seed, 1
            if self.next_normal is not None:
                record["normal"], record["normal_valid"] = self.next_normal, 1
            record["float_normal"], record["float_valid"] = self._float_normal
        return state.view(np.uint8)

    def set_state_bytes(self, state: np.ndarray[Any, Any]) -> None:
        """Continue from ``state``: 5056 contiguous uint8 numbers from here or from PyTorch's ``get_state``."""
        if state.dtype != np.uint8:
            raise TypeError(hinted("RNG state must be a torch.ByteTensor", f"this state holds {state.dtype} elements"))
        if not state.flags.c_contiguous:
            raise RuntimeError(hinted("RNG state must be contiguous", "call .contiguous() on the state first"))
        if state.size != STATE_BYTES:
            raise RuntimeError(
                hinted(
                    f"Expected a CPUGeneratorImplState of size {STATE_BYTES} but found the input RNG state size to be "
                    f"{state.size}",
                    "a state comes whole from get_state() of a CPU generator",
                )
            )
        record = np.frombuffer(state.tobytes(), _STATE)[0]
        left, following = int(record["left"]), int(record["next"])
        if not record["seeded"] or not 0 < left <= BLOCK or following > BLOCK:
            raise RuntimeError(
                hinted("Invalid mt19937 state", f"left is {left}, next is {following}, seeded is {record['seeded']}")
            )
        with self.lock:
            self.engine.set_key(record["key"].astype(np.uint32), following, left)
            self._seed = int(record["seed"])
            self.next_normal = float(record["normal"]) if record["normal_valid"] else None
            self._float_normal = (float(record["float_normal"]), int(record["float_valid"]))

    def get_state(self) -> Tensor:
        """The state as a ByteTensor of 5056 elements, laid out as PyTorch's."""
        return _wrap_state(self.state_bytes())

    def set_state(self, new_state: Any) -> None:
        """Continue from a state that ``get_state`` returned, here or in PyTorch."""
        try:
            state = _unwrap_state(new_state)
        except AttributeError:
            state = None
        if not isinstance(state, np.ndarray):
            raise TypeError(
                hinted(
                    f"expected a torch.ByteTensor, but got {type(new_state).__name__}", "pass what get_state() returned"
                )
            )
        self.set_state_bytes(state)

    def clone_state(self) -> Generator:
        """A new generator that will draw the same numbers as this one would."""
        clone = Generator()
        clone.set_state_bytes(self.state_bytes())
        return clone

    def get_offset(self) -> None:
        """Counter-based generators only: a ``RuntimeError`` on the CPU, as in PyTorch."""
        raise RuntimeError(hinted("CPU Generator does not use offset", "use get_state()"))

    def set_offset(self, offset: Any) -> None:
        """Counter-based generators only: a ``RuntimeError`` on the CPU, as in PyTorch."""
        raise RuntimeError(hinted("CPU Generator does not use offset", "use set_state()"))

    def graphsafe_get_state(self) -> None:
        """CUDA graphs only: a ``RuntimeError`` on the CPU, as in PyTorch."""
        raise RuntimeError(hinted("graphsafe_get_state is not supported in this Generator", "use clone_state()"))

    def graphsafe_set_state(self, state: dict[str, Any]) -> None:
        """CUDA graphs only: a ``RuntimeError`` on the CPU, as in PyTorch."""
        raise RuntimeError(hinted("graphsafe_set_state is not supported in this Generator", "use set_state()"))

    def __reduce__(self) -> Any:
        return _restored, (self.state_bytes().tobytes(),)

    def __repr__(self) -> str:
        return f"<torch._C.Generator object at {id(self):#x}>"


def _restored(state):
    generator = Generator()
    generator.set_state_bytes(np.frombuffer(state, np.uint8))
    return generator


def _check_device(where):
    if where.__class__ is str and where == "cpu":
        return
    where = where if isinstance(where, device) else device(where)
    if where.type == "cpu":
        return
    messages = {
        "cuda": "Cannot get CUDA generator without ATen_cuda library.",
        "mps": "Cannot execute getNewGenerator() without MPS backend.",
    }
    first_line = messages.get(where.type, f"{where.type.upper()} device type not an accelerator.")
    raise RuntimeError(hinted(first_line, "this version draws on the CPU only: torch.Generator()"))


def _not_a_long(seed):
    if hasattr(type(seed), "__index__") and not isinstance(seed, bool) and isinstance(seed, np.generic):
        return TypeError(hinted("an integer is required", f"convert the seed: int(seed), got {type(seed).__name__}"))
    return RuntimeError(
        hinted(
            f"manual_seed expected a long, but got {type(seed).__name__}", "pass a Python int: manual_seed(int(seed))"
        )
    )


def _checked_seed(seed):
    if not -(1 << 63) <= seed < 1 << 64:
        raise ValueError(
            hinted(
                "Overflow when unpacking long long",
                f"seeds lie in [-2**63, 2**64 - 1], this one is {operator.index(seed)}",
            )
        )
    return seed & 0xFFFFFFFFFFFFFFFF


default_generator = Generator()
default_generator.seed()


def resolve(generator: Generator | None) -> Any:
    """``generator`` itself, or the default one for None."""
    if generator is None:
        return default_generator
    if not isinstance(generator, Generator):
        raise TypeError(
            hinted(
                f"argument 'generator' must be torch.Generator, not {kind_name(generator)}",
                "make one with torch.Generator().manual_seed(0)",
            )
        )
    return generator


def manual_seed(seed: int) -> Generator:
    """Start the default stream of ``seed`` and return the default generator, as ``torch.manual_seed``.

    ``seed`` is anything ``int()`` takes, in [-2**63, 2**64); a negative one counts from 2**64.

    >>> import rushlight as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.randn(3)
    tensor([ 1.5410, -0.2934, -2.1788])
    """
    default_generator._reseed(_checked_seed(int(seed)))
    return default_generator


def seed() -> int:
    """Start the default stream from a seed of the operating system's, and return that seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the default stream was started from.

    >>> import rushlight as torch
    >>> _ = torch.manual_seed(-1)
    >>> torch.initial_seed()
    18446744073709551615
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator: a ByteTensor of 5056 elements, laid out as PyTorch's."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Continue the default stream from a state that ``get_rng_state`` returned, here or in PyTorch.

    >>> import rushlight as torch
    >>> state = torch.get_rng_state()
    >>> first = torch.rand(3)
    >>> torch.set_rng_state(state)
    >>> bool((torch.rand(3) == first).all())
    True
    """
    default_generator.set_state(new_state)
