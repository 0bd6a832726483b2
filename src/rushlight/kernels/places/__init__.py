"""Elements picked, written and added up by their places: indexing, masks, joining, padding, windows of `unfold`."""

from __future__ import annotations

ELEMENTS = {  # module -> operation -> from how many elements on it is asked (see `routing`), and why
    # 1,024 rows of 128 added up: 22 us against 445, 20,000 rows of 64: 0.8 ms against 40; rows copied: 5 to 10 % less
    # time than NumPy's on two cores, elements picked along a dimension: a third. Small results are declined.
    "indexing": {
        **dict.fromkeys(("embedding", "index_select"), 4096),
        "gather": 16,  # 4 rows of 8, 3 picked of each: 1 us against 3, written 2 us against 4
        "index": 512,
        "take": 16384,  # 8,192: 9 us against 8; 1,000,000: 0.5 ms against 1.7
    },
    "writing": {
        "embedding_gradient": 4096,
        **dict.fromkeys(("index_add", "index_add_", "index_put_arrays", "index_put_arrays_"), 512),
        **dict.fromkeys(("index_copy", "index_copy_", "index_fill", "index_fill_"), 2048),
        **dict.fromkeys(("put", "put_"), 16384),
    },
    "scattering": {
        **dict.fromkeys(("placed", "scatter_add", "scatter_add_"), 16),
        **dict.fromkeys(("scatter_src", "scatter_src_", "scatter_value", "scatter_value_"), 16),
        **dict.fromkeys(("scatter_reduce", "scatter_reduce_"), 512),
    },
    # Of all parts together. 100 parts of 1,000: 20 us against 35, three of (64, 128) along the last dimension: 3 against 5.
    # complex() of 10,000: 4 us against 15.
    "joining": dict.fromkeys(("cat", "stack", "complex_of_parts"), 2048),
    # 3,072 elements with a border of 1: 8 us against 11 to 33, gradients 10 against 150 and more.
    "padding": dict.fromkeys(("constant_pad_nd", "pad_by_places", "pad_in_circles", "pad_by_places_gradient"), 512),
    "unfolding": {"unfold_gradient": 512},  # 500,000 windows of 4, every other place: 0.8 ms against 5
    "embedding_bags": {"pooled_rows": 512, "pooled_rows_gradient": 512},  # 256 bags of 20: 15 us against 500
    # 10,556 entries by 2,708 rows of 16: 25 us against 1,700; 1,000,000 by 64 columns: 8 ms against 700.
    "sparse_lines": {"sparse_line_sums": 512, "sparse_line_products": 512},
    # 100,000 elements: 40 us against 900, 15 against 450, 55 against 500.
    "selection": {"nonzero_rows": 4096, **dict.fromkeys(("masked_select", "masked_scatter", "masked_scatter_"), 512)},
}
