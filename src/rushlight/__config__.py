"""``torch.__config__``: what this build is, and how many threads it computes with."""

from __future__ import annotations

import os

from .base.settings import get_num_interop_threads, get_num_threads


def show() -> str:
    """A description of the build: what computes, and for which machine."""
    import numpy

    from .version import __version__

    lines = [
        f"  - Rushlight {__version__}",
        f"  - NumPy {numpy.__version__}",
        "  - LAPACK is enabled",
        "  - Build settings: USE_CUDA=0, USE_MPI=OFF, ",
    ]
    return "\n".join(["PyTorch built with:", *lines]) + "\n"


def parallel_info() -> str:
    """How many threads compute."""
    threads, interop, cores = get_num_threads(), get_num_interop_threads(), os.cpu_count()
    return (
        f"ATen/Parallel:\n\tat::get_num_threads() : {threads}\n\tat::get_num_interop_threads() : {interop}\n"
        f"std::thread::hardware_concurrency() : {cores}\n"
    )


def _cxx_flags() -> str:
    """The flags of a C++ compiler: none was asked."""
    return ""
