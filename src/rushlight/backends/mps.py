"""Apple's Metal: not used."""


def is_available():
    """Whether Metal can be used: False in this version."""
    return False


def is_built():
    """Whether this build supports Metal: False."""
    return False
