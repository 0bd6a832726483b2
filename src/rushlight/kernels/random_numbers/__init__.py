"""Random numbers, as PyTorch draws them."""

from __future__ import annotations

ELEMENTS = {  # module -> operation -> from how many elements on it is asked (see `routing`), and why
    # 1,000,000 weights, 10 drawn: 3 ms against 100, with replacement 0.7 against 4.
    "multinomial": {"multinomial": 512},
}
