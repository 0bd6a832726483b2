"""``torch.jit``: questions about TorchScript are answered, its compiler is not there."""

from .base.errors import hinted


def is_scripting():
    """Whether code runs in TorchScript: False."""
    return False


def is_tracing():
    """Whether code is being traced: False."""
    return False


def annotate(the_type, the_value):
    """The value itself."""
    return the_value


def _unchanged(name):
    def decorator(function=None, **options):
        return function if function is not None else lambda inner: inner

    decorator.__name__ = decorator.__qualname__ = name
    decorator.__doc__ = "A mark for TorchScript: the function itself."
    return decorator


ignore, unused, export = _unchanged("ignore"), _unchanged("unused"), _unchanged("export")


def _refused(name):
    def function(*args, **kwargs):
        raise NotImplementedError(
            hinted(f"torch.jit.{name} is not implemented", "run the module itself: there is no TorchScript here")
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Refused: ``{name}`` needs TorchScript, which Rushlight does not have."
    return function


script, trace, load, save = _refused("script"), _refused("trace"), _refused("load"), _refused("save")
