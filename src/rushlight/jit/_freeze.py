"""``torch.jit.freeze`` and its kin: a scripted module in evaluation mode whose parameters are constants."""

import copy as _copy

from ..base.errors import hinted as _hinted
from ._script import RecursiveScriptModule, ScriptModule
from ._state import deprecated as _deprecated

_INSTEAD = "Please use `torch.compile` instead."


def _expects_scripted(mod, name):
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(
            _hinted(
                f"{name} expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to script your "
                "'nn.Module'.",
                "torch.jit.script(module) first",
            )
        )


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """A copy of a scripted module whose parameters are constants: no `state_dict` has them, and no gradient reaches them."""
    _deprecated("freeze", _INSTEAD)
    _expects_scripted(mod, "Freezing")
    if mod.training:
        raise RuntimeError(
            _hinted(
                "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module before "
                "freezing.",
                "module.eval() first",
            )
        )
    for name in preserved_attrs or ():
        if not hasattr(mod, name):
            raise RuntimeError(_hinted(f"Unknown name: {name}", "preserved_attrs are names of attributes and methods"))
    inner = _copy.deepcopy(mod._inner if isinstance(mod, RecursiveScriptModule) else mod).requires_grad_(False)
    frozen = RecursiveScriptModule._of(inner)
    for members in ("_parameters", "_buffers", "_modules"):
        frozen.__dict__[members] = {}
    return frozen


def run_frozen_optimizations(mod, optimize_numerics=True, preserved_methods=None):
    """Without effect: there is nothing to optimize."""
    _expects_scripted(mod, "run_frozen_optimizations")


def optimize_for_inference(mod, other_methods=None):
    """A frozen copy of a scripted module."""
    _deprecated("optimize_for_inference", _INSTEAD)
    _expects_scripted(mod, "optimize_for_inference")
    return freeze(mod.eval(), other_methods)
