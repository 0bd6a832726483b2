"""``torch.utils.collect_env``: what a report of a problem should say of the machine: ``python -m rushlight.utils.collect_env``."""

from __future__ import annotations

import importlib
import importlib.metadata
import locale
import platform
import re
import subprocess
import sys
from collections import namedtuple

SystemEnv = namedtuple(
    "SystemEnv",
    "torch_version is_debug_build cuda_compiled_version gcc_version clang_version cmake_version os libc_version python_version "
    "python_platform is_cuda_available cuda_runtime_version cuda_module_loading nvidia_driver_version nvidia_gpu_models "
    "cudnn_version is_xpu_available pip_version pip_packages conda_packages hip_compiled_version hip_runtime_version "
    "miopen_runtime_version caching_allocator_config is_xnnpack_available cpu_info",
)
_ABSENT, _UNKNOWN = "N/A", "Could not collect"
_PACKAGES = (
    "rushlight",
    "torch",
    "numpy",
    "llvmlite",
    "ml_dtypes",
    "ml-dtypes",
    "mypy",
    "flake8",
    "onnx",
    "safetensors",
    "mpi4py",
)

_TEXT = """\
PyTorch version: {torch_version}
Is debug build: {is_debug_build}
CUDA used to build PyTorch: {cuda_compiled_version}
ROCM used to build PyTorch: {hip_compiled_version}

OS: {os}
GCC version: {gcc_version}
Clang version: {clang_version}
CMake version: {cmake_version}
Libc version: {libc_version}

Python version: {python_version}
Python platform: {python_platform}
Is CUDA available: {is_cuda_available}
CUDA runtime version: {cuda_runtime_version}
CUDA_MODULE_LOADING set to: {cuda_module_loading}
GPU models and configuration: {nvidia_gpu_models}
Nvidia driver version: {nvidia_driver_version}
cuDNN version: {cudnn_version}
Is XPU available: {is_xpu_available}
HIP runtime version: {hip_runtime_version}
MIOpen runtime version: {miopen_runtime_version}
Is XNNPACK available: {is_xnnpack_available}
Caching allocator config: {caching_allocator_config}

CPU:
{cpu_info}

Versions of relevant libraries:
{pip_packages}
{conda_packages}"""


def run(command):
    """Run a command, a list of words: (exit code, what it printed, its complaints); code 127 where there is none such."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=60)
    except FileNotFoundError:
        return 127, "", f"Command not found: {command[0]}"
    encoding = locale.getpreferredencoding()
    return done.returncode, done.stdout.decode(encoding).strip(), done.stderr.decode(encoding).strip()


def _printed(command, pattern="(.*)"):
    """What a pattern finds in what a command prints; None where it fails."""
    code, out, _ = run(command)
    found = re.search(pattern, out) if code == 0 else None
    return found.group(1) if found else None


def get_os():
    """The system and the kind of machine."""
    if not sys.platform.startswith("linux"):
        return f"{platform.platform()} ({platform.machine()})"
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        name = platform.system()
    return f"{name} ({platform.machine()})"


def get_cpu_info():
    """What lscpu says, or the system's own words."""
    code, out, _ = run(["lscpu"])
    return out if code == 0 else platform.processor() or _UNKNOWN


def get_pip_packages():
    """The name of the package manager, and the versions of packages that matter: ``name==version`` in lines."""
    found = {
        each.metadata["Name"]: each.version for each in importlib.metadata.distributions() if each.metadata["Name"]
    }
    wanted = {name: found[name] for name in found if name.lower() in _PACKAGES or "torch" in name.lower()}
    return "pip3", "\n".join(f"{name}=={wanted[name]}" for name in sorted(wanted, key=str.lower))


def get_env_info():
    """What is known of the machine and the packages, a `SystemEnv`.

    >>> from rushlight.utils.collect_env import get_env_info
    >>> get_env_info().is_cuda_available
    'False'
    """
    rushlight = importlib.import_module("rushlight")
    manager, packages = get_pip_packages()
    version, bits = sys.version.replace("\n", " "), sys.maxsize.bit_length() + 1
    return SystemEnv(
        torch_version=f"rushlight {rushlight.__version__}",
        is_debug_build="False",
        cuda_compiled_version="None",
        gcc_version=_printed(["gcc", "--version"], "gcc (.*)"),
        clang_version=_printed(["clang", "--version"], "clang version (.*)"),
        cmake_version=_printed(["cmake", "--version"], "cmake (.*)"),
        os=get_os(),
        libc_version="-".join(platform.libc_ver()) if sys.platform.startswith("linux") else _ABSENT,
        python_version=f"{version} ({bits}-bit runtime)",
        python_platform=platform.platform(),
        is_cuda_available="False",
        cuda_runtime_version=None,
        cuda_module_loading=_ABSENT,
        nvidia_driver_version=None,
        nvidia_gpu_models=None,
        cudnn_version=None,
        is_xpu_available="False",
        pip_version=manager,
        pip_packages=packages,
        conda_packages=None,
        hip_compiled_version=_ABSENT,
        hip_runtime_version=_ABSENT,
        miopen_runtime_version=_ABSENT,
        caching_allocator_config=_ABSENT,
        is_xnnpack_available="False",
        cpu_info=get_cpu_info(),
    )


def pretty_str(envinfo):
    """A `SystemEnv` as text, as PyTorch writes it."""
    shown = {name: _UNKNOWN if value in (None, "") else value for name, value in envinfo._asdict().items()}
    for name, before in (("pip_packages", f"[{envinfo.pip_version}] "), ("conda_packages", "[conda] ")):
        shown[name] = "\n".join(before + line for line in shown[name].splitlines())
    return _TEXT.format(**shown)


def get_pretty_env_info():
    """What is known of the machine and the packages, as text."""
    return pretty_str(get_env_info())


def main():
    """Print what is known."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
