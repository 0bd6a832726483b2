"""``torch.cuda.profiler`` of a build without CUDA."""

import contextlib as _contextlib

from ..compat import absent as _absent

_uncompiled = _absent.refusal(AssertionError, "Torch not compiled with CUDA enabled", "torch.cuda")
_absent.define(globals(), {"start(); stop(); init(output_file, flags=None, output_mode='key_value')": _uncompiled})


@_contextlib.contextmanager
def profile():
    """A block that CUDA's profiler watches: needs a device."""
    _uncompiled()
    yield
