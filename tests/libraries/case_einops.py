"""einops: rearrange and its relatives, layers, gradients through them."""

import torch
from einops import asnumpy, einsum, pack, parse_shape, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce
from report import norms, say

torch.manual_seed(0)
images = torch.randn(2, 3, 4, 6, requires_grad=True)
say("rearrange", norms(rearrange(images, "b c (h h2) (w w2) -> b (c h2 w2) h w", h2=2, w2=2)))
for how in ("mean", "max", "min", "sum", "prod"):
    say(f"reduce.{how}", reduce(images, "b c (h 2) (w 2) -> b c", how).abs())
say("repeat", norms(repeat(images, "b c h w -> b c (h 2) (2 w)")))
packed, shapes = pack([torch.ones(2, 3), torch.ones(2, 4, 5)], "b *")
say("pack", [list(packed.shape), *(list(part.shape) for part in unpack(packed, shapes, "b *"))])
say("einsum", norms(einsum(images, images, "b c h w, b d h w -> b c d")))
say("parse_shape", parse_shape(images, "b _ h w"))
model = torch.nn.Sequential(Rearrange("b c h w -> b (c h w)"), torch.nn.Linear(72, 5))
say("layer", [str(model), norms(model(images))])
mix = EinMix("b c h w -> b h w o", "c o", bias_shape="o", c=3, o=4)
mix(images).square().sum().backward()
say("mix", [str(mix), norms(mix.weight.grad), norms(images.grad)])
say("pool", norms(Reduce("b c (h 2) (w 2) -> b c h w", "max")(images)))
say("script", norms(torch.jit.script(model)(images)))
say("asnumpy", list(asnumpy(images.detach()).shape))
try:
    rearrange(images, "b c h -> b c")
except Exception as error:
    say("error", str(error).split("\n"))
