"""The form of an error: PyTorch's sentence first, then a hint of ours that says what to do."""


def hinted(first_line, hint):
    """A message whose first line is PyTorch's and whose second begins with ``hint:``.

    >>> print(hinted("element 0 of tensors does not require grad", "make one with requires_grad=True"))
    element 0 of tensors does not require grad
    hint: make one with requires_grad=True
    """
    return f"{first_line}\nhint: {hint}"


class Verbatim(str):
    """Text that is its own repr: a KeyError prints the repr of its argument, which would hide line breaks."""

    def __repr__(self):
        return str(self)


def missing_key(key, hint):
    """The KeyError of a dictionary, with a hint."""
    return KeyError(Verbatim(hinted(repr(key), hint)))


def missing_package(package, purpose, extra):
    """The ImportError for an optional package: what needs it and the command that installs it."""
    return ImportError(
        hinted(f"{purpose} needs the package '{package}', which is not installed", f"pip install 'rushlight[{extra}]'")
    )


_HEAP_TYPE = 1 << 9  # of a type's flags: made by a class statement, so that messages of C call it by its name alone
# What messages call our classes that are built into PyTorch.
_NATIVE = {name: f"torch.{name}" for name in ("device", "layout", "memory_format", "Size")} | {
    "Generator": "torch._C.Generator",
    **dict.fromkeys(("SparseTensor", "StridedNestedTensor"), "Tensor"),
}


def kind_name(value):
    """What messages of PyTorch call the class of a value: ``numpy.ndarray``, ``torch.device``, ``Linear``."""
    kind = value.__class__
    name = kind.__name__
    if name in _NATIVE and kind.__module__.partition(".")[0] in ("rushlight", "torch"):  # the latter under the shim
        return _NATIVE[name]
    return name if kind.__flags__ & _HEAP_TYPE or kind.__module__ == "builtins" else f"{kind.__module__}.{name}"


class AcceleratorError(RuntimeError):
    """``torch.AcceleratorError``: what a device reports; never raised in a build for the CPU."""


class OutOfMemoryError(RuntimeError):
    """``torch.OutOfMemoryError``: a device's memory is used up; never raised in a build for the CPU."""
