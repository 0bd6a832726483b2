"""The program ``rushlight``: demo, run, graph, shim, info, cache. What a command needs is imported when it is given."""

from __future__ import annotations

import argparse
import importlib
import sys

import rushlight

from .errors import CommandError

DATA = ("digits", "fashion-mnist")
RUN_USAGE = "rushlight run [-h] [--find-nonfinite] (script.py | -m module) [arguments ...]"
RUN_HELP = f"""usage: {RUN_USAGE}

Run a Python script (or, with -m, a module) that says `import torch` or `import torchvision`, unmodified:
both names find Rushlight. Arguments, exit status and tracebacks are the script's own.
With --find-nonfinite the script stops at the operation that makes the first NaN or infinity, with
its inputs' ranges; everything runs slowly."""


def main(arguments=None):
    """Run one command and return its exit status; `arguments` are ``sys.argv[1:]`` unless given."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    command = arguments[0] if arguments else ""
    try:
        if command == "run":  # what follows belongs to the script: argparse must not look at it
            return run(arguments[1:])
        options = parser().parse_args(arguments or ["--help"])
        command = options.command
        return importlib.import_module(f".{command}", __name__).execute(options)
    except CommandError as error:
        print(f"rushlight {command}: error: {error}", file=sys.stderr)
        return error.status


def run(arguments):
    """``rushlight run``: take what stands before the script's own arguments."""
    if arguments[:1] in (["-h"], ["--help"]):
        print(RUN_HELP)
        return 0
    if arguments[:1] == ["--find-nonfinite"]:
        nonfinite = importlib.import_module("rushlight.tensor.nonfinite")
        with nonfinite.find_nonfinite():
            return run(arguments[1:])
    as_module = arguments[:1] == ["-m"]
    names = arguments[1:] if as_module else arguments
    if not names or (names[0].startswith("-") and not as_module):
        what = f"unknown option {names[0]}" if names else "no module was named" if as_module else "no script was named"
        raise CommandError(f"{what}; usage: {RUN_USAGE}")
    runner = importlib.import_module(".run", __name__)
    return (runner.run_module if as_module else runner.run_script)(names[0], names[1:])


def parser():
    """The command line, as argparse sees it."""
    whole = argparse.ArgumentParser(prog="rushlight", description="PyTorch's interface in pure Python.")
    whole.add_argument("--version", action="version", version=f"rushlight {rushlight.__version__}")
    commands = whole.add_subparsers(dest="command", required=True, metavar="command")
    demo = commands.add_parser(
        "demo",
        help="train a classifier and draw its curve and its graph",
        description="Train a classifier on real data; write rushlight-curve.svg and rushlight-graph.svg.",
    )
    demo.add_argument("--data", choices=DATA, default="digits", help="digits comes with the package (default)")
    demo.add_argument(
        "--epochs", type=positive, help="times through the training images (digits: 12, fashion-mnist: 3)"
    )
    demo.add_argument("--out", default=".", metavar="DIR", help="where the pictures go (default: the current folder)")
    demo.add_argument("--root", default="data", metavar="DIR", help="where Fashion-MNIST is or goes (default: data)")
    demo.add_argument(
        "--seed", type=int, default=0, help="for the initial numbers and the order of images (default: 0)"
    )
    commands.add_parser("run", add_help=False, help="run a script that says `import torch`: script.py [arguments ...]")
    add_graph(commands)
    cache = commands.add_parser(
        "cache", help="the machine code kept on disk", description="The generated kernels kept on disk for later runs."
    )
    action = cache.add_mutually_exclusive_group()
    action.add_argument("--info", action="store_true", help="where they are, how many, how large (default)")
    action.add_argument("--clear", action="store_true", help="remove them; they are compiled again when needed")
    importlib.import_module(".launch", __name__).add_launch(commands)
    add_shim(commands)
    commands.add_parser("info", help="versions, processor, threads", description="Versions, processor, threads.")
    return whole


def add_graph(commands):
    """``rushlight graph``."""
    graph = commands.add_parser(
        "graph",
        help="run a script and draw the graph of each loss that it calls backward on",
        description="Run a Python script that says `import torch` and draw the graphs that its backward calls go through: "
        "one for each line that calls backward.",
    )
    graph.add_argument("script", metavar="script.py", help="the script; what follows are its own arguments")
    graph.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    graph.add_argument("--output", default=".", metavar="DIR", help="where the files go (default: the current folder)")
    graph.add_argument(
        "--format", choices=("html", "svg", "dot", "text"), default="html", help="of the files (default: html)"
    )
    graph.add_argument(
        "--max", type=positive, default=1, help="so many graphs of different shape for each line (default: 1)"
    )
    graph.add_argument("--depth", type=whole_number, help="how many levels of modules are unfolded at first")


def add_shim(commands):
    """``rushlight shim``."""
    shim = commands.add_parser(
        "shim",
        help="stand in for PyTorch in this environment: install, remove",
        description="Make this virtual environment believe that PyTorch is installed: `import torch` and `import torchvision` "
        "find Rushlight in every program, and pip finds both packages there.",
    )
    shim.add_argument("action", choices=("install", "remove"), help="remove takes away every file that install wrote")
    shim.add_argument("--system", action="store_true", help="also outside a virtual environment")
    shim.add_argument("--folder", metavar="DIR", help="another site-packages folder than that of this Python")


def whole_number(text):
    """A whole number from 0 up."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r}")
    return int(text)


def positive(text):
    """A whole number from 1 up."""
    number = int(text) if text.isascii() and text.isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 up, got {text!r}")
    return number
