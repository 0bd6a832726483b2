"""Programs that exchange, between forward and backward, the tensors that layers saved: run by a child process, see `main`."""

import importlib
import sys

EXCHANGED = {
    "one more dimension": lambda m, t: t[None].clone(),
    "one dimension less": lambda m, t: t[0].clone(),
    "twice the rows": lambda m, t: m.cat([t, t]),
    "half the rows": lambda m, t: t[: len(t) // 2].clone(),
    "half the columns": lambda m, t: t[..., : t.shape[-1] // 2].clone(),
    "twice the columns": lambda m, t: m.cat([t, t], -1),
    "float64": lambda m, t: t.double(),
    "float16": lambda m, t: t.half(),
    "expanded": lambda m, t: t[:1].expand(t.shape),
    "empty": lambda m, t: t.new_empty((0,)),
    "no dimension": lambda m, t: t.new_full((), 0.5),
}


def layers(m):
    """(name, function of an input and weights, their shapes)."""
    f = m.nn.functional
    yield "conv1d", lambda x, w, b: f.conv1d(x, w, b), (4, 8, 64), (8, 8, 3), (8,)
    yield "conv2d", lambda x, w, b: f.conv2d(x, w, b, padding=1), (4, 8, 16, 16), (8, 8, 3, 3), (8,)
    yield "conv2d pointwise", lambda x, w: f.conv2d(x, w), (4, 8, 16, 16), (8, 8, 1, 1)
    yield "conv2d depthwise", lambda x, w: f.conv2d(x, w, groups=8), (4, 8, 16, 16), (8, 1, 3, 3)
    yield "conv2d strided", lambda x, w: f.conv2d(x, w, stride=2, dilation=2), (4, 8, 16, 16), (8, 8, 3, 3)
    yield "conv3d", lambda x, w: f.conv3d(x, w), (2, 4, 8, 8, 8), (4, 4, 3, 3, 3)
    yield "conv_transpose2d", lambda x, w, b: f.conv_transpose2d(x, w, b, 2, 1, 1), (4, 8, 8, 8), (8, 8, 3, 3), (8,)
    yield "conv_transpose1d", lambda x, w: f.conv_transpose1d(x, w), (4, 8, 32), (8, 8, 3)
    yield "linear", f.linear, (64, 64), (64, 64), (64,)
    yield "linear deep", f.linear, (8, 16, 64), (32, 64), (32,)
    yield "linear relu", lambda x, w: f.linear(f.relu(x), w), (64, 64), (64, 64)
    yield "bilinear", f.bilinear, (64, 16), (64, 16), (8, 16, 16), (8,)
    yield "matmul", m.matmul, (64, 64), (64, 64)
    yield "bmm", m.bmm, (8, 32, 32), (8, 32, 32)
    yield "embedding", lambda w: f.embedding(m.arange(256) % 100, w), (100, 32)
    yield "embedding_bag", lambda w: f.embedding_bag((m.arange(256) % 100).view(32, 8), w), (100, 32)
    yield "layer_norm", lambda x, w, b: f.layer_norm(x, (64,), w, b), (128, 64), (64,), (64,)
    yield "rms_norm", lambda x, w: f.rms_norm(x, (64,), w), (128, 64), (64,)
    yield "group_norm", lambda x, w, b: f.group_norm(x, 4, w, b), (8, 16, 8, 8), (16,), (16,)
    yield "batch_norm", lambda x, w, b: f.batch_norm(x, None, None, w, b, True), (8, 16, 8, 8), (16,), (16,)
    yield "instance_norm", lambda x, w, b: f.instance_norm(x, None, None, w, b), (8, 16, 8, 8), (16,), (16,)
    yield "prelu", f.prelu, (8, 16, 32), (16,)
    yield "attention", f.scaled_dot_product_attention, (2, 4, 32, 16), (2, 4, 32, 16), (2, 4, 32, 16)
    yield "max_pool2d", lambda x: f.max_pool2d(x, 2), (4, 8, 16, 16)
    yield "avg_pool2d", lambda x: f.avg_pool2d(x, 2), (4, 8, 16, 16)
    yield "softmax cross entropy", lambda x: f.cross_entropy(x, m.arange(64) % 32), (64, 32)
    yield "cdist", m.cdist, (64, 16), (64, 16)
    yield "grid_sample", lambda x, g: f.grid_sample(x, g, align_corners=False), (2, 4, 16, 16), (2, 16, 16, 2)
    yield "interpolate", lambda x: f.interpolate(x, scale_factor=2.0, mode="bilinear"), (2, 4, 16, 16)
    yield "product of elements", lambda x, w: x * w, (128, 128), (128, 128)
    yield "gelu", f.gelu, (128, 128)


def main(library, parameters):
    """Run every program; an exchanged tensor is refused or gives numbers, the process goes on."""
    m = importlib.import_module(library)
    make = m.nn.Parameter if parameters else lambda t: t.requires_grad_()
    for name, run, *shapes in layers(m):
        for place in range(len(shapes)):
            for kind, exchange in EXCHANGED.items():
                print(name, place, kind, end=": ", flush=True)
                m.manual_seed(0)
                tensors = [make(m.randn(shape)) for shape in shapes]
                result = run(*tensors)
                tensors[place].data = exchange(m, tensors[place].detach())
                try:
                    (result * result).sum().backward()
                    print("numbers", flush=True)
                except Exception as error:  # which one is compared with PyTorch's where there is one to compare
                    print(type(error).__name__, str(error).split("\n")[0], flush=True)
    print("done")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] == "parameters")
