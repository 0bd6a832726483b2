"""``torch.distributions.distribution``: not in this version."""

from . import _absent

__getattr__ = _absent("torch.distributions.distribution")
