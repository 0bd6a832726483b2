"""``rushlight run``: run a script or a module as Python would, with Rushlight under PyTorch's name."""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import os
import sys
import types
from importlib.machinery import SourceFileLoader

from rushlight.compat import standing

from .errors import CommandError
from .missing import missing_name_hint

KEPT = []  # the program's own main module: its globals must outlive the script's


def run_script(path, arguments):
    """Run the file at `path` as ``__main__``; returns the exit status."""
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        raise CommandError(f"can't open file {os.path.abspath(path)!r}: {error.strerror}") from error
    stand_in()
    place = os.path.abspath(path)
    set_first_path(os.path.dirname(os.path.realpath(path)))
    sys.argv = Arguments([path, *arguments])
    module = new_main(__file__=place, __cached__=None, __loader__=SourceFileLoader("__main__", place))
    return guarded(lambda: exec(compile(source, place, "exec", dont_inherit=True), module.__dict__))


def run_module(name, arguments):
    """Run a module, found on ``sys.path`` and in the current folder, as ``__main__``; returns the exit status."""
    stand_in()
    set_first_path(os.getcwd())
    sys.argv = Arguments(["-m", *arguments])
    try:
        spec, code = find_code(name)
    except SyntaxError:
        return guarded(lambda: find_code(name))
    sys.argv[0] = spec.origin
    module = new_main(
        __file__=spec.origin,
        __cached__=spec.cached,
        __loader__=spec.loader,
        __package__=spec.parent,
        __spec__=spec,
    )
    return guarded(lambda: exec(code, module.__dict__))


def find_code(name):
    """(spec, code) of the module `name`, or of its ``__main__`` if it is a package."""
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name += ".__main__"
            spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError) as error:
        raise CommandError(f"cannot find the module {name}: {error}") from error
    if spec is None:
        raise CommandError(f"No module named {name}")
    code = spec.loader.get_code(name) if hasattr(spec.loader, "get_code") else None
    if code is None:
        raise CommandError(f"the module {name} has no Python code to run")
    return spec, code


def stand_in():
    try:
        standing.install_as_torch()
    except RuntimeError as error:  # something at start-up has imported the real one
        raise CommandError(str(error)) from error


def set_first_path(folder):
    """What Python does before a script: its folder comes first (unless Python was told -P)."""
    if not sys.flags.safe_path:
        sys.path[0:1] = [folder]


def new_main(**names):
    """A fresh ``__main__`` module."""
    module = types.ModuleType("__main__")
    module.__dict__.update(__builtins__=builtins, **names)
    KEPT.append(sys.modules["__main__"])
    sys.modules["__main__"] = module
    return module


class Arguments(list):
    """``sys.argv``. A worker process that is started afresh gets it first of all, and with it Rushlight as torch."""

    def __reduce__(self):
        return arguments_in_worker, (list(self),)


def arguments_in_worker(arguments):
    standing.install_as_torch()
    return Arguments(arguments)


def guarded(execute):
    """Run the program; an exception is printed as Python prints it, without the frames of this runner."""
    try:
        execute()
    except SystemExit:
        raise
    except BaseException as error:
        sys.excepthook(type(error), error.with_traceback(users_frames(error.__traceback__)), error.__traceback__)
        hint = missing_name_hint(error)
        if hint:
            print(hint, file=sys.stderr)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def users_frames(trace):
    """The traceback without this file's frames and without those of the import of a torch name."""
    frames, previous = [], ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        by_compat = file == importlib.__file__ and previous == standing.__file__
        ours = file == standing.__file__ or os.path.dirname(file) == os.path.dirname(__file__)
        if not (ours or file.startswith("<frozen importlib") or by_compat):
            frames.append(trace)
        previous, trace = file, trace.tb_next
    following = None
    for each in reversed(frames):
        following = types.TracebackType(following, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return following
