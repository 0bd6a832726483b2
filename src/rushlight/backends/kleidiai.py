"""Arm's KleidiAI: not used."""


def is_available():
    """Whether KleidiAI can be used: False."""
    return False
