"""Convolutions and their gradients, by the algorithm that suits their shape."""

from __future__ import annotations

ELEMENTS = {  # module -> operation -> from how many elements on it is asked (see `routing`), and why
    # 2 channels of 8 x 8, 3 kernels of 3 x 3: 4 us against 14, with both gradients 36 against 115.
    "forward": dict.fromkeys(("convolution", "convolution_input_gradient", "transposed_convolution"), 1),
    "weight_gradient": {"convolution_weight_gradient": 1},
}
