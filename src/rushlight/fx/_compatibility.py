"""Marks that say how long names of ``torch.fx`` keep their meaning."""


def compatibility(is_backward_compatible):
    """A decorator that leaves what it marks as it is."""
    return lambda marked: marked
