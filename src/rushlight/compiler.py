"""``torch.compiler``: there is no compiler in this version."""


def is_compiling():
    """Whether code is being compiled: False."""
    return False


def disable(fn=None, recursive=True, reason=None):
    """Keep a function from being compiled: the function itself."""
    return fn if fn is not None else lambda function: function
