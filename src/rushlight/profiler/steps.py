"""How many steps a program has taken, as several parts of it count them; and the contexts that name operations for other tools."""

from __future__ import annotations

import warnings

from ..base.errors import hinted
from ..base.user_code import to_user
from .itt import tell_nobody


class KinetoStepTracker:
    """The number of the current step: the most that anybody who counts, a profiler or an optimizer, has come to.

    >>> from rushlight.autograd.profiler import KinetoStepTracker
    >>> KinetoStepTracker.init_step_count("mine")
    >>> KinetoStepTracker.increment_step("mine") - KinetoStepTracker.current_step()
    0
    >>> KinetoStepTracker.erase_step_count("mine")
    True
    """

    _current_step = 0
    _step_dict: dict[str, int] = {}

    @classmethod
    def init_step_count(cls, requester):
        """Let ``requester`` count, from the current step on."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester):
        """Let ``requester`` count no more. Whether it did."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester):
        """Count a step of ``requester``. Returns the current step."""
        if requester not in cls._step_dict:
            cls.init_step_count(requester)
        cls._step_dict[requester] += 1
        most = max(cls._step_dict.values())
        if most > cls._current_step + 1:
            sentence = (
                f"Profiler step count has increased more than 1 - current_step = {cls._current_step} step dict =  "
                f"{cls._step_dict}"
            )
            warnings.warn(hinted(sentence, "somebody counted ahead"), stacklevel=to_user())
        cls._current_step = max(most, cls._current_step)
        return cls._current_step

    @classmethod
    def current_step(cls):
        """The current step."""
        return cls._current_step


class emit_itt:
    """A block whose operations are ranges for Intel's tools: where none is attached, as PyTorch's, it does nothing.

    Args:
        enabled: False makes it do nothing at all.
        record_shapes: whether ranges name the shapes of arguments.
    """

    _kind = "ITT"

    def __init__(self, enabled=True, record_shapes=False):
        self.enabled, self.entered, self.record_shapes = enabled, False, record_shapes

    def __enter__(self):
        if not self.enabled:
            return None
        if self.entered:
            first = f"{self._kind} annotation context manager is not reentrant"
            raise RuntimeError(hinted(first, "make another one"))
        self.entered = True
        self._begin()
        return self

    def _begin(self):
        tell_nobody()

    def __exit__(self, *error):
        return False if self.enabled else None


class emit_nvtx(emit_itt):
    """A block whose operations are ranges for NVIDIA's tools: needs a device, refused where it is entered."""

    _kind = "NVTX"

    def _begin(self):
        raise AssertionError(hinted("Torch not compiled with CUDA enabled", "Rushlight runs on the CPU"))


class EnforceUnique:
    """Raises where it sees a key again."""

    def __init__(self):
        self.seen = set()

    def see(self, *key):
        """Note a key."""
        if key in self.seen:
            raise RuntimeError(hinted("duplicate key: " + str(key), "it was seen before"))
        self.seen.add(key)


def load_nvprof(path):
    """Read what nvprof, NVIDIA's old profiler, wrote: refused."""

    raise NotImplementedError(hinted("load_nvprof is not implemented", "nvprof profiles CUDA, which is not here"))
