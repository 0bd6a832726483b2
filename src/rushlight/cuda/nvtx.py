"""``torch.cuda.nvtx`` of a build without CUDA."""

import contextlib as _contextlib

from ..compat import absent as _absent

_without = _absent.refusal(
    RuntimeError, "NVTX functions not installed. Are you sure you have a CUDA build?", "torch.cuda"
)
_absent.define(globals(), {"range_push(msg); range_pop(); range_start(msg); range_end(range_id); mark(msg)": _without})


@_contextlib.contextmanager
def range(msg, *args, **kwargs):
    """A block with a name for NVIDIA's tools: needs a device."""
    _without()
    yield
