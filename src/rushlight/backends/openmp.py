"""OpenMP: not used."""


def is_available():
    """Whether OpenMP can be used: False."""
    return False
