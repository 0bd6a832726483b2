"""``rushlight shim install`` and ``rushlight shim remove``: Rushlight under PyTorch's name in a whole environment."""

from __future__ import annotations

import os
import site
import sys
import sysconfig

from ..compat import shim
from .errors import CommandError


def execute(options):
    """Install or remove; returns the exit status."""
    folder = options.folder or sysconfig.get_path("purelib")
    if not (options.folder or options.system or in_environment()):
        raise CommandError(
            f"{sys.prefix} is not a virtual environment: the shim would stand in for PyTorch in every program of this Python "
            "(make one with `python -m venv`, or say --system)"
        )
    try:
        if options.action == "install":
            done = shim.install(folder, [folder, *([] if options.folder else search_path())])
            done += [] if options.folder else shim.put_script(sysconfig.get_path("scripts"))
        else:
            done = shim.remove(folder)
            done += [] if options.folder else shim.remove_script(sysconfig.get_path("scripts"))
    except shim.ShimError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{error.filename or folder}: {error.strerror}") from error
    print("\n".join(done))
    return 0


def in_environment():
    """Whether this Python belongs to a virtual environment, or to one of conda's other than its base."""
    conda = os.environ.get("CONDA_PREFIX")
    in_conda = (
        conda is not None and os.environ.get("CONDA_DEFAULT_ENV") != "base" and os.path.samefile(conda, sys.prefix)
    )
    return sys.prefix != sys.base_prefix or in_conda


def search_path():
    """The folders that this environment finds packages in, whichever folder the command is given in."""
    folders = [*site.getsitepackages(), sysconfig.get_path("platlib")]
    if site.ENABLE_USER_SITE:
        folders.append(site.getusersitepackages())
    folders.extend(folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder)
    started = {"", os.getcwd(), os.path.dirname(os.path.realpath(sys.argv[0]))}
    return [folder for folder in dict.fromkeys([*folders, *sys.path]) if folder not in started]
