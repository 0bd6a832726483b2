"""``torch.hub``: entry points of a local repository, and weights from an address, checked and put in place as a whole.

Code is never fetched: ``load("owner/name", ...)`` says how to get the repository first.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
import tempfile
from collections.abc import Callable
from typing import Any
from urllib.parse import urlparse

from .base.errors import hinted
from .serialization import load as load_file

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

ENV_GITHUB_TOKEN, ENV_TORCH_HOME, ENV_XDG_CACHE_HOME = "GITHUB_TOKEN", "TORCH_HOME", "XDG_CACHE_HOME"
DEFAULT_CACHE_DIR, MODULE_HUBCONF, VAR_DEPENDENCY = "~/.cache", "hubconf.py", "dependencies"
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
READ_DATA_CHUNK = 128 * 1024


class _Chosen:
    folder: str | None = None


def _get_torch_home() -> str:
    home = os.getenv(ENV_TORCH_HOME) or os.path.join(os.getenv(ENV_XDG_CACHE_HOME) or DEFAULT_CACHE_DIR, "torch")
    return os.path.expanduser(home)


def get_dir() -> str:
    """The folder that downloads go to: that of `set_dir`, or ``hub`` in ``$TORCH_HOME``, or ``~/.cache/torch/hub``."""
    if _Chosen.folder is not None:
        return _Chosen.folder
    return os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Let downloads go to this folder."""
    _Chosen.folder = os.path.expanduser(os.fspath(d))


# ---------------------------------------------------------------- entry points


def _entries(repo_or_dir: Any, source: str, call: str) -> Any:
    """The module ``hubconf`` of a local repository."""
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        owner = str(repo_or_dir).partition(":")[0]
        raise RuntimeError(
            hinted(
                f"torch.hub.{call} of {repo_or_dir!r}: no code is fetched from the network",
                f"git clone https://github.com/{owner}, look at it, and call {call}(the_folder, ..., source='local')",
            )
        )
    folder = os.path.abspath(os.fspath(repo_or_dir))
    path = os.path.join(folder, MODULE_HUBCONF)
    spec = importlib.util.spec_from_file_location("hubconf", path)
    if spec is None or spec.loader is None or not os.path.exists(path):
        raise FileNotFoundError(
            hinted(f"[Errno 2] No such file or directory: {path!r}", "a repository has a hubconf.py")
        )
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    _check_dependencies(module)
    return module


def _check_dependencies(module: Any) -> None:
    missing = [name for name in getattr(module, VAR_DEPENDENCY, ()) if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(hinted(f"Missing dependencies: {', '.join(missing)}", "install them"))


def _entry(module: Any, name: Any) -> Callable[..., Any]:
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    found = getattr(module, name, None)
    if not callable(found):
        raise RuntimeError(
            hinted(f"Cannot find callable {name} in hubconf", "torch.hub.list() names those that there are")
        )
    return found


def load(
    repo_or_dir: Any,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """What the entry point ``model`` of a repository's ``hubconf.py`` gives for the arguments; ``source="local"`` alone."""
    return _entry(_entries(repo_or_dir, source, "load"), model)(*args, **kwargs)


def list(
    github: Any,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = "check",
    verbose: bool = True,
    *,
    source: str = "github",
) -> Any:
    """The names of the entry points of a repository."""
    module = _entries(github, source, "list")
    return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


def help(
    github: Any,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = "check",
    *,
    source: str = "github",
) -> Any:
    """The documentation of an entry point."""
    return _entry(_entries(github, source, "help"), model).__doc__


# ---------------------------------------------------------------- files


class _Progress:
    """The bar of a download where the package tqdm is not installed: a line of bytes, on stderr."""

    def __init__(self, total: int | None = None, disable: bool = False, **options: Any):
        self.total, self.disable, self.n = total, disable, 0

    def update(self, n: int) -> None:
        """Count ``n`` bytes more."""
        self.n += n
        if not self.disable:
            share = f"{self.n} bytes" if not self.total else f"{100 * self.n / self.total:.1f}%"
            sys.stderr.write(f"\r{share}")
            sys.stderr.flush()

    def set_description(self, *args: Any, **kwargs: Any) -> None:
        """A description, which is not shown."""

    def write(self, text: str) -> None:
        """A line above the bar."""
        sys.stderr.write(f"{text}\n")

    def close(self) -> None:
        """End the line."""
        if not self.disable:
            sys.stderr.write("\n")

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


def __getattr__(name: str) -> Any:
    if name != "tqdm":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    try:
        from tqdm import tqdm
    except ImportError:
        return _Progress
    return tqdm


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Fetch an address into the file ``dst``, which is replaced as a whole once everything is there.

    Args:
        hash_prefix: what the SHA-256 of the file begins with; another one is an error, and the file stays as it was.
    """
    from urllib.request import Request, urlopen

    dst = os.path.expanduser(dst)
    digest = hashlib.sha256()
    handle, partial = tempfile.mkstemp(
        prefix=os.path.basename(dst) + ".", suffix=".partial", dir=os.path.dirname(dst) or "."
    )
    bar = __getattr__("tqdm")
    try:
        with os.fdopen(handle, "wb") as file, urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as answer:
            expected, done = answer.headers.get("Content-Length"), 0
            total = None if expected is None else int(expected)
            with bar(total=total, disable=not progress, unit="B", unit_scale=True, unit_divisor=1024) as shown:
                while block := answer.read(READ_DATA_CHUNK):
                    file.write(block)
                    digest.update(block)
                    done += len(block)
                    shown.update(len(block))
        if total is not None and done != total:
            raise RuntimeError(hinted(f"download of {url} ended after {done} of {expected} bytes", "try again"))
        found = digest.hexdigest()
        if hash_prefix is not None and found[: len(hash_prefix)] != hash_prefix:
            raise RuntimeError(
                hinted(
                    f'invalid hash value (expected "{hash_prefix}", got "{found}")',
                    "the file is damaged, or is another one than was meant; nothing was kept",
                )
            )
        os.replace(partial, dst)
    finally:
        if os.path.exists(partial):
            os.remove(partial)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """What ``torch.load`` reads from the file at an address, which is fetched where the folder does not have it.

    Args:
        model_dir: the folder; ``checkpoints`` in `get_dir` by default.
        check_hash: whether the file's name ends in the first digits of its SHA-256 (``name-<digits>.pth``), to be compared.
        file_name: its name in the folder; that of the address by default.
    """
    folder = model_dir if model_dir is not None else os.path.join(get_dir(), "checkpoints")
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.stderr.write(f'Downloading: "{url}" to {path}\n')
        digits = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, digits.group(1) if digits else None, progress=progress)
    return load_file(path, map_location=map_location, weights_only=weights_only)
