"""The program ``rushlight``: demo, run, info, cache. What a command needs is imported when it is given."""

from __future__ import annotations

import argparse
import importlib
import sys

from .errors import CommandError

DATA = ("digits", "fashion-mnist")
RUN_USAGE = "rushlight run [-h] (script.py | -m module) [arguments ...]"
RUN_HELP = f"""usage: {RUN_USAGE}

Run a Python script (or, with -m, a module) that says `import torch` or `import torchvision`, unmodified:
both names find Rushlight. Arguments, exit status and tracebacks are the script's own."""


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
    cache = commands.add_parser(
        "cache", help="the machine code kept on disk", description="The generated kernels kept on disk for later runs."
    )
    action = cache.add_mutually_exclusive_group()
    action.add_argument("--info", action="store_true", help="where they are, how many, how large (default)")
    action.add_argument("--clear", action="store_true", help="remove them; they are compiled again when needed")
    commands.add_parser("info", help="versions, processor, threads", description="Versions, processor, threads.")
    return whole


def positive(text):
    """A whole number from 1 up."""
    number = int(text) if text.isascii() and text.isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 up, got {text!r}")
    return number
