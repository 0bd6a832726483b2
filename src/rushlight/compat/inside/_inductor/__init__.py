"""``torch._inductor``: PyTorch's code generator, which is not here; its settings are kept without effect."""

from . import config


def list_mode_options(mode=None, dynamic=None):
    """The settings of each mode of compilation: there are none."""
    return (
        {}
        if mode
        else {name: {} for name in ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")}
    )


def list_options():
    """The names of all settings."""
    return sorted(name for name in vars(config) if not name.startswith("_"))


def cudagraph_mark_step_begin():
    """A mark for CUDA's graphs: without effect."""
