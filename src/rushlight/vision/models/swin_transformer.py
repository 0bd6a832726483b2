"""Swin transformer and Swin v2."""

from __future__ import annotations

from functools import partial

from rushlight.ops.table import functions

from ... import fx, nn
from ..ops.misc import MLP, Permute
from ..ops.stochastic_depth import StochasticDepth
from .registry import define
from .swin_attention import ShiftedWindowAttention, ShiftedWindowAttentionV2
from .vision_transformer import initialize_mlp
from .weights import attribute_of

__all__ = ["SwinTransformer"]

# name: (width, layers a stage, heads a stage, side of a window, stochastic depth)
MODELS = {
    "swin_t": (96, [2, 2, 6, 2], [3, 6, 12, 24], 7, 0.2),
    "swin_s": (96, [2, 2, 18, 2], [3, 6, 12, 24], 7, 0.3),
    "swin_b": (128, [2, 2, 18, 2], [4, 8, 16, 32], 7, 0.5),
    "swin_v2_t": (96, [2, 2, 6, 2], [3, 6, 12, 24], 8, 0.2),
    "swin_v2_s": (96, [2, 2, 18, 2], [3, 6, 12, 24], 8, 0.3),
    "swin_v2_b": (128, [2, 2, 18, 2], [4, 8, 16, 32], 8, 0.5),
}


@fx.wrap
def _patch_merging_pad(x):
    """The four positions of each 2x2 square side by side as channels, odd sides padded."""
    height, width = x.shape[-3:-1]
    x = nn.functional.pad(x, (0, 0, 0, width % 2, 0, height % 2))
    corners = [x[..., down::2, across::2, :] for across in (0, 1) for down in (0, 1)]
    return functions.cat(corners, -1)


class PatchMerging(nn.Module):
    """Half the size and twice the channels, between two stages."""

    def __init__(self, dim, norm_layer=nn.LayerNorm):
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(4 * dim)

    def forward(self, x):
        return self.reduction(self.norm(_patch_merging_pad(x)))


class PatchMergingV2(nn.Module):
    """`PatchMerging` with the norm behind the layer."""

    def __init__(self, dim, norm_layer=nn.LayerNorm):
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(2 * dim)

    def forward(self, x):
        return self.norm(self.reduction(_patch_merging_pad(x)))


class SwinTransformerBlock(nn.Module):
    """Attention within windows and an MLP, each behind a norm and beside a shortcut."""

    def __init__(
        self,
        dim,
        num_heads,
        window_size,
        shift_size,
        mlp_ratio=4.0,
        dropout=0.0,
        attention_dropout=0.0,
        stochastic_depth_prob=0.0,
        norm_layer=nn.LayerNorm,
        attn_layer=ShiftedWindowAttention,
    ):
        super().__init__()
        self.norm1 = norm_layer(dim)
        dropouts = {"attention_dropout": attention_dropout, "dropout": dropout}
        self.attn = attn_layer(dim, window_size, shift_size, num_heads, **dropouts)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.norm2 = norm_layer(dim)
        self.mlp = MLP(dim, [int(dim * mlp_ratio), dim], activation_layer=nn.GELU, inplace=None, dropout=dropout)
        initialize_mlp(self.mlp)

    def forward(self, x):
        x = x + self.stochastic_depth(self.attn(self.norm1(x)))
        return x + self.stochastic_depth(self.mlp(self.norm2(x)))


class SwinTransformerBlockV2(SwinTransformerBlock):
    """`SwinTransformerBlock` with each norm behind its branch, and the attention of v2."""

    def __init__(self, *args, attn_layer=ShiftedWindowAttentionV2, **kwargs):
        super().__init__(*args, attn_layer=attn_layer, **kwargs)

    def forward(self, x):
        x = x + self.stochastic_depth(self.norm1(self.attn(x)))
        return x + self.stochastic_depth(self.norm2(self.mlp(x)))


class SwinTransformer(nn.Module):
    """Stages of attention within shifted windows (Liu and others, "Swin Transformer", 2021, and "Swin V2", 2021)."""

    def __init__(
        self,
        patch_size,
        embed_dim,
        depths,
        num_heads,
        window_size,
        mlp_ratio=4.0,
        dropout=0.0,
        attention_dropout=0.0,
        stochastic_depth_prob=0.1,
        num_classes=1000,
        norm_layer=None,
        block=None,
        downsample_layer=PatchMerging,
    ):
        super().__init__()
        self.num_classes = num_classes
        block = SwinTransformerBlock if block is None else block
        norm_layer = partial(nn.LayerNorm, eps=1e-5) if norm_layer is None else norm_layer
        options = {"mlp_ratio": mlp_ratio, "dropout": dropout, "attention_dropout": attention_dropout}
        patches = nn.Conv2d(3, embed_dim, kernel_size=tuple(patch_size), stride=tuple(patch_size))
        layers = [nn.Sequential(patches, Permute([0, 2, 3, 1]), norm_layer(embed_dim))]
        total, made, width = sum(depths), 0, embed_dim
        for stage, (depth, heads) in enumerate(zip(depths, num_heads)):
            blocks = []
            for index in range(depth):
                shift = [0 if index % 2 == 0 else side // 2 for side in window_size]
                dropped = stochastic_depth_prob * float(made) / (total - 1)
                around = {"stochastic_depth_prob": dropped, "norm_layer": norm_layer, **options}
                blocks.append(block(width, heads, window_size=window_size, shift_size=shift, **around))
                made += 1
            layers.append(nn.Sequential(*blocks))
            if stage < len(depths) - 1:
                layers.append(downsample_layer(width, norm_layer))
                width *= 2
        self.features = nn.Sequential(*layers)
        self.norm = norm_layer(width)
        self.permute = Permute([0, 3, 1, 2])
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten(1)
        self.head = nn.Linear(width, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, x):
        x = self.permute(self.norm(self.features(x)))
        return self.head(self.flatten(self.avgpool(x)))


def constructor(name):
    width, depths, heads, side, dropped = MODELS[name]
    second = {"block": SwinTransformerBlockV2, "downsample_layer": PatchMergingV2} if "v2" in name else {}

    def construct(**kwargs):
        options = {"stochastic_depth_prob": dropped, **second, **kwargs}
        return SwinTransformer([4, 4], width, list(depths), list(heads), [side, side], **options)

    return define(name, construct, "Liu and others, 2021", __name__)


for _name in MODELS:
    globals()[_name] = constructor(_name)
    __all__.append(_name)

__getattr__ = attribute_of(__name__)
