"""Fourier transforms of any length."""

from __future__ import annotations

ELEMENTS = {  # module -> operation -> from how many elements on it is asked (see `routing`), and why
    # 8 numbers: 1.2 us against 3.4 (NumPy makes ten Python calls), 1,024: 2 against 9, 1,000,000: 1.4 ms against 15.
    "transforms": dict.fromkeys(("fft_c2c", "fft_r2c", "fft_c2r"), 2),
}
