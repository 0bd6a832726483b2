"""Products of matrices, and what is made of them: linear layers, distances, attention."""

from __future__ import annotations

ELEMENTS = {  # module -> operation -> from how many elements on it is asked (see `routing`), and why
    # 1,000 x 1,000 rows of 64: 0.4 ms against 2, by any power 0.6 against 70 and more; the sizes of both decide.
    "distances": dict.fromkeys(("cdist_pairs", "pdist_pairs", "distance_gradient", "symmetric_matrix"), 16),
    # From 65,536 multiplications on kernels take as long as OpenBLAS or less (below they decline): 1 x 784 x 512 transposed 10
    # us against 21, 64 x 784 x 512 transposed with bias 165 against 300, batches of 64 x 32 x 64 66 against 219.
    # With so many multiplications an operand has 256 elements at least.
    "matmul": dict.fromkeys(("mm", "mv", "bmm", "transposed_mm", "addmm", "baddbmm", "batched_product"), 256),
    "attention_scores": {"scaled_scores": 256},
    "linear": dict.fromkeys(("linear_rows", "linear_gradients"), 64),  # what is small declines, by its multiplications
    # 64 heads of 64 x 64 x 32: 186 us against 1,300 in NumPy's passes.
    "attention": dict.fromkeys(("attention", "attention_backward"), 1024),
}
