"""The shim: files in an environment's site-packages by which everything in it believes that PyTorch is installed."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from pathlib import Path

from ..base.errors import hinted
from .packages import IMPORTS, VERSIONS, files, information, on_disk

_SCRIPT_MARK = "from rushlight.distributed.run import main"
MARK = "from rushlight.compat.standing import replace_stub"  # what tells our files from those of the real package


class ShimError(Exception):
    """The shim cannot be installed here, or not be removed; nothing was changed."""


def install(folder, search):
    """Put the shim into the site-packages ``folder``; returns what was done, a line each.

    ``search`` are the folders that the environment finds packages in: where a real PyTorch is in one of them, nothing is changed.
    """
    folder = Path(folder)
    refuse_the_real_ones(search)
    wanted = {path: text for name in VERSIONS for path, text in files(name).items()}
    done = []
    for name in VERSIONS:
        old = [place for place in ours(folder, name) if place.name != information(name)]
        for place in old:
            remove_files([path for path in place.rglob("*") if path.is_file()], folder)
            done.append(f"removed {place.name}, of another version of the shim")
        present = all(read(folder / path) == text for path, text in files(name).items())
        done.append(f"{name} {VERSIONS[name]} {'was installed already' if present else 'is installed'}")
    for path, text in wanted.items():
        place = folder / path
        if read(place) != text:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8", newline="\n")
    return [*done, f"in {folder}"]


def remove(folder):
    """Take the shim away, to the last file; returns what was done, a line each. Files of others are left where they are."""
    folder = Path(folder)
    done = []
    for name in VERSIONS:
        stubs = [folder / module / "__init__.py" for module in IMPORTS[name]]
        found = [stub for stub in stubs if MARK in (read(stub) or "")]
        for stub in list(found):
            found.extend(stub.parent.glob("__pycache__/__init__.*.pyc"))
        for place in ours(folder, name):
            found.extend(path for path in place.rglob("*") if path.is_file())
        if found:
            remove_files(found, folder)
            done.append(f"{name} {VERSIONS[name]} is removed")
            left = [stub.parent for stub in stubs if stub.parent.is_dir() and stub in found]
            done.extend(f"left {place}: files in it are not the shim's" for place in left)
        else:
            done.append(f"{name}: the shim was not installed")
    return [*done, f"in {folder}"]


def put_script(folder):
    """Put ``torchrun`` into the folder of programs; returns what was done, a line each."""
    place = Path(folder) / "torchrun"
    known = read(place)
    if known is not None and _SCRIPT_MARK not in known:
        return [f"{place} is another program's, and stays"]
    place.write_text(f"#!{sys.executable}\n{_SCRIPT_MARK}\n\nmain()\n", encoding="utf-8")
    place.chmod(0o755)
    return [f"torchrun is in {folder}"]


def remove_script(folder):
    """Take ``torchrun`` away where it is ours; returns what was done, a line each."""
    place = Path(folder) / "torchrun"
    if _SCRIPT_MARK not in (read(place) or ""):
        return []
    place.unlink()
    return ["torchrun is removed"]


def ours(folder, name):
    """The metadata folders of this package that a shim has written."""
    found = (place for place in folder.glob(f"{name}-*+rushlight.dist-info") if place.is_dir())
    return [place for place in found if (read(place / "INSTALLER") or "").strip() == "rushlight"]


def refuse_the_real_ones(search):
    """ShimError where PyTorch or torchvision itself is found in the folders."""
    for name in VERSIONS:
        for found in on_disk(name, list(search)):
            if not found.version.endswith("+rushlight"):
                raise ShimError(
                    hinted(
                        f"{name} {found.version} is installed in {found.locate_file('')}",
                        f"the shim would hide it: `pip uninstall {name}` first, or use another environment "
                        "(`rushlight run` stands in for one program and changes nothing)",
                    )
                )
        for module in IMPORTS[name]:
            spec = importlib.machinery.PathFinder.find_spec(module, list(search))
            if spec is not None and spec.origin and MARK not in (read(Path(spec.origin)) or ""):
                raise ShimError(
                    hinted(
                        f"{module} is in {spec.origin}",
                        "the shim would hide it: take it away first, or use another environment",
                    )
                )


def remove_files(paths, folder):
    """Remove the files, then the folders that became empty, up to ``folder``."""
    for path in paths:
        path.unlink()
    for place in sorted(
        {parent for path in paths for parent in path.parents}, key=lambda p: len(p.parts), reverse=True
    ):
        if folder in place.parents and place.is_dir() and not any(place.iterdir()):
            place.rmdir()


def read(path):
    """The text of a file; None where there is none, or where it is no text."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
