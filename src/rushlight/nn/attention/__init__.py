"""``torch.nn.attention``: which ways ``scaled_dot_product_attention`` may compute in."""

import contextlib as _contextlib
import enum as _enum

from ...base.errors import hinted as _hinted

__all__ = ["SDPBackend", "WARN_FOR_UNFUSED_KERNELS", "sdpa_kernel"]
WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(_enum.Enum):
    """A way to compute attention. Rushlight chooses its own kernel by the shapes; the names are accepted and kept."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __repr__(self):
        return f"<SDPBackend.{self.name}: {self.value}>"

    def __int__(self):
        return self.value


_allowed = [
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
    SDPBackend.OVERRIDEABLE,
]


def _cur_sdpa_kernel_backends(with_priority=False):
    """The ways that are allowed now."""
    return list(_allowed)


@_contextlib.contextmanager
def sdpa_kernel(backends, set_priority=False):
    """A block in which attention may be computed in these ways alone: kept, every way gives the same numbers here."""
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            _hinted(
                f"Backend must be an instance of SDPBackend or a list of SDPBackend instances, got {type(backends).__name__}",
                "such as torch.nn.attention.SDPBackend.MATH",
            )
        )
    before = list(_allowed)
    _allowed[:] = dict.fromkeys([backends] if isinstance(backends, SDPBackend) else backends)
    try:
        yield {}
    finally:
        _allowed[:] = before
