"""Intel MKL: not used."""


def is_available():
    """Whether MKL can be used: False; products run on NumPy's BLAS."""
    return False
