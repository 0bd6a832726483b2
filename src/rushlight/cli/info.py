"""``rushlight info``: versions, processor, threads."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys

import rushlight as torch

from ..base.processors import VARIABLES, cache_bytes, cache_sharers, usable_cores
from ..kernels.machine.cache import directory
from ..kernels.machine.host import host

INTERFACE = "2.13"  # the PyTorch release whose interface this is
PACKAGES = (  # name, how to install it, what it is for
    ("numpy", "numpy", "arrays"),
    ("llvmlite", "llvmlite", "machine code"),
    ("ml_dtypes", "ml_dtypes", "bfloat16"),
    ("pillow", "rushlight[vision]", "images"),
    ("safetensors", "rushlight[safetensors]", ".safetensors files"),
    ("tqdm", "rushlight[vision]", "progress bars"),
)


def execute(options):
    """Print what there is; returns the exit status."""
    for name, value in lines():
        print(f"{name:18} {value}")
    return 0


def lines():
    """(what, value) of each line."""
    yield "Rushlight", f"{torch.__version__} ({os.path.dirname(torch.__file__)})"
    yield "PyTorch interface", INTERFACE
    yield "Python", f"{platform.python_version()} ({sys.executable})"
    yield "platform", platform.platform()
    for package, install, purpose in PACKAGES:
        yield package, version_of(package) or f"not installed: pip install '{install}' ({purpose})"
    yield "processor", processor_name()
    yield "cores", f"{usable_cores()} usable of {os.cpu_count()}"
    yield "caches", caches()
    yield "threads", threads()
    yield "BLAS", blas_name()
    yield "generated kernels", kernels()
    if host() is not None:
        yield "multiply-adds", multiply_adds()


def kernels():
    """Whether there are generated kernels, for which processor, and where they are kept."""
    machine = host()
    if machine is None:
        why = "RUSHLIGHT_KERNELS=off" if version_of("llvmlite") else "pip install llvmlite"
        return f"none; NumPy computes everything ({why})"
    tiles = ", tile unit" if machine.has_tiles else ""
    return f"for {machine.cpu}, vectors of {machine.vector_bytes} bytes{tiles}; kept in {directory()}"


def multiply_adds():
    """What the vector units can do at most, measured now: products are as good as they come near to it."""
    from ..kernels.products.multiply_add_rate import multiply_add_rate

    count = torch.get_num_threads()
    rates = {kind: [multiply_add_rate(kind, n) / 1e9 for n in (1, count)] for kind in ("f32", "f64")}
    (one, most), (_, doubles) = rates.values()
    by_one = f" ({one:.0f} by one)" if count > 1 else ""
    return f"{most:.0f} GFLOP/s in float32 by {count} thread{'s' * (count > 1)}{by_one}, {doubles:.0f} in float64"


def caches():
    """The sizes of the first core's caches, and how many share the last."""
    sizes = [(level, cache_bytes(level) >> 10) for level in (1, 2, 3)]
    told = [f"{size} KB" if size < 1024 else f"{size / 1024:g} MB" for _, size in sizes if size]
    sharers = max(cache_sharers(level) for level, _ in sizes)
    return ", ".join(told) + f"; the last for {sharers} cores" * (sharers > 1) if told else "not told by the system"


def version_of(package):
    """The installed version of a package, which is not imported; None without it."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def processor_name():
    """The processor's trade name, where the system tells."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith(("model name", "Model", "cpu model")):
                    return line.partition(":")[2].strip()
    except OSError:
        pass  # not Linux
    if sys.platform == "darwin":
        import subprocess

        asked = subprocess.run(["sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True)
        if asked.returncode == 0:
            return asked.stdout.strip()
    return platform.processor() or platform.machine() or "unknown"


def threads():
    """How many threads an operation uses, and what set it."""
    for variable in VARIABLES:
        if os.environ.get(variable):
            return f"{torch.get_num_threads()} ({variable})"
    return f"{torch.get_num_threads()} (set RUSHLIGHT_NUM_THREADS for another number)"


def blas_name():
    """The library behind NumPy's matrix products."""
    import numpy

    found = numpy.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})
    return f"{found.get('name', 'unknown')} {found.get('version', '')}".strip()
