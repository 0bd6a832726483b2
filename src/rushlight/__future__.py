"""``torch.__future__``: how conversions and loading put new tensors in the place of a module's parameters."""

_choices = {"overwrite": False, "swap": False}


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Let ``module.to()``, ``float()`` and their like put new parameters into modules (True) or change the old ones in place (False).

    >>> import rushlight as torch
    >>> layer = torch.nn.Linear(1, 1)
    >>> weight = layer.weight
    >>> torch.__future__.set_overwrite_module_params_on_conversion(True)
    >>> layer.double().weight is weight, weight.dtype
    (False, torch.float32)
    >>> torch.__future__.set_overwrite_module_params_on_conversion(False)
    """
    _choices["overwrite"] = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether conversions put new parameters into modules (False)."""
    return _choices["overwrite"]


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Let conversions and ``load_state_dict`` exchange parameters with new ones by `torch.utils.swap_tensors`; it goes before overwriting.

    Whoever holds a parameter then holds the new content, whatever its class. ``load_state_dict`` asks the parameter's
    ``module_load`` for it.
    """
    _choices["swap"] = value


def get_swap_module_params_on_conversion() -> bool:
    """Whether conversions and ``load_state_dict`` exchange parameters (False)."""
    return _choices["swap"]
