"""What loading and saving say when a file or an object is refused: PyTorch's first lines, our hints."""

from __future__ import annotations

from pickle import UnpicklingError

from ..base.errors import hinted

_LIKELY_CORRUPT = (
    "This is an internal miniz error. If you are seeing this error, there is a high likelihood that your checkpoint "
    "file is corrupted. This can happen if the checkpoint was not saved properly, was transferred incorrectly, or the "
    "file was modified after saving."
)
_NOT_ALLOWED = (
    "Weights only load failed. This file can still be loaded, to do so you have two options, "
    "\033[1mdo those steps only if you trust the source of the checkpoint\033[0m. "
)


def broken_archive(what, hint, action="reading zip archive:"):
    """The RuntimeError of a zip container that does not hold together; ``what`` names the part."""
    return RuntimeError(
        hinted(f"PytorchStreamReader failed {action} {what}. {_LIKELY_CORRUPT}", f"{hint}; copy or download it again")
    )


def refused(what, hint, weights_only=True):
    """The UnpicklingError of a stream that asks for something outside the data it may hold."""
    prefix = "Weights only load failed. " if weights_only else ""
    return UnpicklingError(hinted(f"{prefix}{what}", hint))


def malformed(what):
    """The UnpicklingError of a stream that is damaged, or was built to mislead."""
    return refused(what, "the checkpoint's record of objects is damaged or was not written by torch.save")


def truncated(what="the pickled objects end too early"):
    """The EOFError of a stream that stops before its end."""
    return EOFError(hinted("Ran out of input", f"{what}: the file is cut short; copy or download it again"))


def unsupported_global(name, hint, weights_only):
    """The UnpicklingError that names a class or function which the table of data constructors does not hold."""
    detail = f"WeightsUnpickler error: Unsupported global: GLOBAL {name} was not an allowed global by default."
    if weights_only:
        return UnpicklingError(hinted(f"{_NOT_ALLOWED}\n\t{detail}", hint))
    return UnpicklingError(hinted(f"Unsupported global: GLOBAL {name} is not data that Rushlight reads", hint))


def printable(text, limit=200):
    """Text from a file, with what could disturb a terminal escaped, and cut to a bearable length."""
    text = text.encode("unicode_escape").decode()
    return text if len(text) <= limit else text[:limit] + "..."


def shorten(value, limit=60):
    """A value from a file, cut to a length that is safe to print in a message."""
    if type(value) is int and abs(value) >= 1 << 128:
        return f"an integer of {value.bit_length()} bits"
    text = repr(value) if type(value) in (str, bytes, int, bool, float) else f"a {type(value).__name__}"
    return text if len(text) <= limit else text[:limit] + "..."
