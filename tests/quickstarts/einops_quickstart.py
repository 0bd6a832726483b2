"""Rearranged, reduced and repeated tensors, and layers of the same: einops."""

import torch
from einops import einsum, pack, parse_shape, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce

torch.manual_seed(0)
x = torch.randn(2, 3, 4, 6, requires_grad=True)
print(rearrange(x, "b c h w -> b (c h) w").shape)
print(rearrange(x, "b c (h h2) (w w2) -> b (c h2 w2) h w", h2=2, w2=2).sum())
print(reduce(x, "b c h w -> b c", "mean"), repeat(x, "b c h w -> b c (h 2) w").shape)
packed, shapes = pack([torch.ones(2, 3), torch.ones(2, 4, 5)], "b *")
print(packed.shape, shapes, [one.shape for one in unpack(packed, shapes, "b *")])
print(einsum(x, x, "b c h w, b d h w -> b c d").sum(), parse_shape(x, "b _ h w"))
net = torch.nn.Sequential(Rearrange("b c h w -> b (c h w)"), torch.nn.Linear(72, 5))
print(net, net(x).shape, torch.jit.script(net)(x).shape)
mix = EinMix("b c h w -> b h w o", "c o", bias_shape="o", c=3, o=4)
mixed = mix(x)
mixed.sum().backward()
print(mix, mixed.shape, x.grad.sum(), mix.weight.grad.sum())
print(Reduce("b c (h 2) (w 2) -> b c h w", "max")(x).sum())
try:
    rearrange(x, "b c h -> b c")
except Exception as error:
    print(error)
