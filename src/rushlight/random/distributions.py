"""Every distribution under its PyTorch name, on NumPy arrays.

Names that end in an underscore fill an array of any strides in PyTorch's order of elements and return it; the others
make one. All take ``generator=None`` for the default generator, and draw the numbers that PyTorch draws on the CPU.

>>> from rushlight.random import Generator, distributions
>>> distributions.randint(0, 10, (5,), generator=Generator().manual_seed(0))
array([4, 9, 3, 0, 3])
"""

from .continuous import cauchy_, exponential_, geometric_
from .integers import randint, random_, randperm
from .multinomial import multinomial
from .normal import log_normal_, normal, normal_, randn
from .rejection import binomial, dirichlet, poisson, standard_gamma
from .uniform import bernoulli, bernoulli_, keep_mask, keep_mask_like, rand, uniform_

__all__ = [
    "bernoulli", "bernoulli_", "binomial", "cauchy_", "dirichlet", "exponential_", "geometric_", "keep_mask",
    "keep_mask_like", "log_normal_", "multinomial", "normal", "normal_", "poisson", "rand", "randint", "randn",
    "random_", "randperm", "standard_gamma", "uniform_",
]  # fmt: skip
