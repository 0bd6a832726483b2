"""``torch._dynamo.utils``: what the compiler has counted: nothing."""

import collections as _collections

counters = _collections.defaultdict(_collections.Counter)


def is_compile_supported(device_type):
    """Whether code for a device can be compiled: there is no compiler."""
    return False
