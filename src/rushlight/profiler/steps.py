"""How many steps a program has taken, as several parts of it count them; and the contexts that name operations for other tools."""

from __future__ import annotations

import warnings

from ..base.errors import hinted
from ..base.user_code import to_user
from .itt import _refuse


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
    """A block whose operations are ranges for Intel's tools, which are not here: refused where it is entered."""

    def __init__(self, enabled=True, record_shapes=False):
        self.enabled, self.entered, self.record_shapes = enabled, False, record_shapes

    def __enter__(self):
        if self.enabled:
            _refuse()

    def __exit__(self, *error):
        return None


class emit_nvtx(emit_itt):
    """A block whose operations are ranges for NVIDIA's tools: needs a device, refused where it is entered."""

    def __enter__(self):
        if self.enabled:
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
