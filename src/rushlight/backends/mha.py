"""The inference path of ``nn.TransformerEncoder``: whether layers may take it."""

_is_fastpath_enabled = True


def get_fastpath_enabled():
    """Whether the fast path may be taken."""
    return _is_fastpath_enabled


def set_fastpath_enabled(value):
    """Let the fast path be taken, or not."""
    global _is_fastpath_enabled
    _is_fastpath_enabled = value
