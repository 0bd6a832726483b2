"""Images sampled between their elements: interpolation, grids."""

from __future__ import annotations

ELEMENTS = {  # module -> operation -> from how many elements on it is asked (see `routing`), and why
    # 3 x 8 x 8 to 16 x 16: 9 us against 22, 3 x 512 x 512 halved: 65 us against 2,800.
    "resampling": {
        **dict.fromkeys(("interpolate_parts", "interpolate_gradient"), 1),
        **dict.fromkeys(("adaptive_avg_pool", "adaptive_avg_pool_gradient"), 1),
    },
    # 3 x 8 x 8 sampled as often: 3 us against 90, gradients 4 against 80; 16 of 3 x 224 x 224: 1.4 ms against 39.
    "grid_sampling": dict.fromkeys(("grid_samples", "grid_samples_input_gradient", "grid_samples_grid_gradient"), 64),
}
