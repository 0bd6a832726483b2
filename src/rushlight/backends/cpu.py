"""The processor that kernels are generated for."""

from ..kernels.machine.host import host as _host


def get_cpu_capability():
    """The vector instructions in use: ``AVX512``, ``AVX2``, ``DEFAULT``, as PyTorch names them."""
    machine = _host()
    width = 0 if machine is None else machine.vector_bytes
    return {64: "AVX512", 32: "AVX2"}.get(width, "DEFAULT")
