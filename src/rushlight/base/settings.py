"""Switches of the process that change no result here, kept so that scripts which set them run."""

_PRECISIONS = ("highest", "high", "medium")
_precision = "highest"


def get_float32_matmul_precision():
    """The precision allowed inside float32 products: one of "highest", "high", "medium"."""
    return _precision


def set_float32_matmul_precision(precision):
    """Allow less precision inside float32 products; products here always have the highest."""
    global _precision
    if precision not in _PRECISIONS:
        raise RuntimeError(f"Invalid float32 matmul precision: {precision}")
    _precision = precision
