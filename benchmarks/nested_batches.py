"""Nested batches against PyTorch's, in one process: 64 sequences of up to 512 positions.

    python benchmarks/nested_batches.py [--repeats 5]

Each row is the best time of a step by both, taken in turns.
"""

import argparse
import sys
import time
import warnings

warnings.simplefilter("ignore")


def steps(torch):
    """Name -> a function that runs one step."""
    torch.manual_seed(0)
    functional, size, heads = torch.nn.functional, 256, 4
    generator = torch.Generator().manual_seed(1)
    lengths = torch.randint(32, 513, (64,), generator=generator).tolist()
    parts = [torch.randn(length, size) for length in lengths]
    batch = torch.nested.nested_tensor(parts, layout=torch.jagged)
    linear, norm = torch.nn.Linear(size, size), torch.nn.LayerNorm(size)
    packed = [torch.nested.nested_tensor([p.view(-1, heads, size // heads) for p in parts], layout=torch.jagged)]
    q = packed[0].transpose(1, 2)
    layer = torch.nn.TransformerEncoderLayer(size, heads, 512, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, 2).eval()
    source = batch.to_padded_tensor(0.0)
    padding = torch.arange(source.shape[1]) >= torch.tensor(lengths)[:, None]

    def layers():
        found = norm(functional.gelu(linear(batch) + batch))
        found.values().sum().backward()

    def attention():
        with torch.no_grad():
            functional.scaled_dot_product_attention(q, q, q)

    def attention_backward():
        x = packed[0].detach().requires_grad_()
        heads_first = x.transpose(1, 2)
        functional.scaled_dot_product_attention(heads_first, heads_first, heads_first).transpose(
            1, 2
        ).values().sum().backward()

    def encode():
        with torch.no_grad():
            encoder(source, src_key_padding_mask=padding)

    def reductions():
        batch.sum(1), batch.mean(1), batch.amax(1), batch.softmax(1)

    return {
        "elementwise (x * 2 + x).relu()": lambda: (batch * 2 + batch).relu(),
        "to_padded_tensor": lambda: batch.to_padded_tensor(0.0),
        "sum, mean, amax, softmax over lengths": reductions,
        "linear, gelu, layer_norm and backward": layers,
        "attention": attention,
        "attention and backward": attention_backward,
        "TransformerEncoder with a padding mask": encode,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    import torch

    import rushlight

    both = {"PyTorch": steps(torch), "Rushlight": steps(rushlight)}
    print(f"{'ms':42}" + "".join(f"{name:>12}" for name in both))
    for row in both["PyTorch"]:
        best = dict.fromkeys(both, float("inf"))
        for step in range(repeats + 1):
            for name, rows in both.items():
                start = time.perf_counter()
                rows[row]()
                if step:  # the first one warms up
                    best[name] = min(best[name], (time.perf_counter() - start) * 1000)
        print(f"{row:42}" + "".join(f"{value:12.2f}" for value in best.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
