"""``torch.distributions.utils``: not in this version."""

from . import _absent

__getattr__ = _absent("torch.distributions.utils")
