"""Every distribution under its PyTorch name, on NumPy arrays.

Names that end in an underscore fill an array of any strides in PyTorch's order of elements and return it; the others
make one. All take ``generator=None`` for the default generator, and draw the numbers that PyTorch draws on the CPU.

>>> from rushlight.random import Generator, distributions
>>> distributions.randint(0, 10, (5,), generator=Generator().manual_seed(0))
array([4, 9, 3, 0, 3])
"""

from importlib import import_module

# Where each is, imported when somebody draws from it first.
_MODULES = {
    "continuous": ("cauchy_", "exponential_", "geometric_"),
    "integers": ("randint", "random_", "randperm"),
    "multinomial": ("multinomial",),
    "normal": ("log_normal_", "normal", "normal_", "randn"),
    "rejection": ("binomial", "dirichlet", "poisson", "standard_gamma"),
    "uniform": ("bernoulli", "bernoulli_", "keep_mask", "keep_mask_like", "rand", "uniform_"),
}

__all__ = sorted(name for names in _MODULES.values() for name in names)


def __getattr__(name):
    for module, names in _MODULES.items():
        if name in names:
            found = globals()[name] = getattr(import_module("." + module, __package__), name)
            return found
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *__all__})
