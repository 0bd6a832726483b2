"""Pooling: maxima and means of windows, and their gradients."""

from __future__ import annotations

ELEMENTS = {  # module -> operation -> from how many elements on it is asked (see `routing`), and why
    # 2 x 8 x 8 by 2 x 2: maxima 3 us against 12, with their gradient 24 against 78, means 3 against 21, 16 against 64.
    "maxima": {
        **dict.fromkeys(("max_pool_values", "max_pool_places", "max_pool_values_gradient"), 1),
        **dict.fromkeys(("adaptive_max_pool", "places_gradient"), 1),
    },
    "means": dict.fromkeys(("avg_pool", "avg_pool_gradient"), 1),
}
