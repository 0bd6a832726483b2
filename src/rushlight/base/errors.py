"""The form of an error: PyTorch's sentence first, then a hint of ours that says what to do."""


def hinted(first_line, hint):
    """A message whose first line is PyTorch's and whose second begins with ``hint:``.

    >>> print(hinted("element 0 of tensors does not require grad", "make one with requires_grad=True"))
    element 0 of tensors does not require grad
    hint: make one with requires_grad=True
    """
    return f"{first_line}\nhint: {hint}"


def missing_package(package, purpose, extra):
    """The ImportError for an optional package: what needs it and the command that installs it."""
    return ImportError(
        hinted(f"{purpose} needs the package '{package}', which is not installed", f"pip install 'rushlight[{extra}]'")
    )
