"""``torch.utils.deterministic``: what new memory holds under ``torch.use_deterministic_algorithms(True)``."""

import sys
import types

from ..base import settings


class _Deterministic(types.ModuleType):
    @property
    def fill_uninitialized_memory(self):
        """Whether tensors that nothing has been written to hold NaN, or the largest integer."""
        return settings.is_uninitialized_memory_filled()

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode):
        settings.fill_uninitialized_memory(mode)


sys.modules[__name__].__class__ = _Deterministic
