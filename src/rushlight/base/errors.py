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
