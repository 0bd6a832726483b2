"""``torch.distributions``: not in this version; its classes can be named and inherited from, and refuse to be made."""

from ...absent import dummy_class as _dummy_class


def _absent(module):
    """``__getattr__`` of a module whose classes are not there."""

    def __getattr__(name):
        if name.startswith("__"):
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        return _dummy_class(name, module, f"{module}.{name} is not available in this version")

    return __getattr__


__getattr__ = _absent("torch.distributions")
