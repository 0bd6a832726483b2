"""cuSPARSELt: not used."""


def is_available():
    """Whether cuSPARSELt can be used: False in this version."""
    return False


def version():
    """The version of cuSPARSELt: none."""
    return None


def get_max_alg_id():
    """The number of its algorithms: none."""
    return None
