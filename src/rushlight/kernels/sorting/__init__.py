"""Elements in order: sorted, the leading ones, searched for, counted."""

from __future__ import annotations

ELEMENTS = {  # module -> operation -> from how many elements on it is asked (see `routing`), and why
    "searching": {"search_positions": 1024},  # 1,000,000 values among 1,000: 2 ms against 40
    # 1,000,000 numbers: 15 ms against 110, rows of 100: 12 against 25.
    "radix": {"sort_pair": 2048, "mode_pair": 2048, "unique_parts": 4096},
    "leading": {"topk_pair": 16},  # 2 of 8, 4 times: 3.4 us against 18, 10 of 1,000,000: 0.14 ms against 1.8
    # 1,000,000 integers below 1,000: 0.26 ms against 1.5, floats among 100 intervals: 0.36 against 2.9.
    "counting": {"bincount": 4096, "histc": 512, "histogram_counts": 1024},
}
