"""Vision transformer."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from rushlight.ops.table import functions

from ... import fx, nn
from ...fx._symbolic_trace import _assert
from ..ops.misc import MLP, Conv2dNormActivation
from ._utils import _ovewrite_named_param
from .registry import define
from .weights import attribute_of

__all__ = ["VisionTransformer"]

# name: (patch size, layers, heads, width, width of the MLP)
MODELS = {
    "vit_b_16": (16, 12, 12, 768, 3072),
    "vit_b_32": (32, 12, 12, 768, 3072),
    "vit_l_16": (16, 24, 16, 1024, 4096),
    "vit_l_32": (32, 24, 16, 1024, 4096),
    "vit_h_14": (14, 32, 16, 1280, 5120),
}
LayerNorm = partial(nn.LayerNorm, eps=1e-6)
fx.wrap("_assert")  # a node of recorded graphs


class ConvStemConfig(NamedTuple):
    """One convolution of a stem that stands in for the cutting into patches."""

    out_channels: int
    kernel_size: int
    stride: int
    norm_layer: Callable[..., nn.Module] = nn.BatchNorm2d
    activation_layer: Callable[..., nn.Module] = nn.ReLU


class MLPBlock(MLP):
    """The two-layer network of an encoder block."""

    _version = 2  # version 1 called its layers linear_1 and linear_2

    def __init__(self, in_dim, mlp_dim, dropout):
        super().__init__(in_dim, [mlp_dim, in_dim], activation_layer=nn.GELU, inplace=None, dropout=dropout)
        initialize_mlp(self)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *others):
        if (local_metadata.get("version") or 1) < 2:
            for old, new in (("linear_1", "0"), ("linear_2", "3")):
                for kind in ("weight", "bias"):
                    if f"{prefix}{old}.{kind}" in state_dict:
                        state_dict[f"{prefix}{new}.{kind}"] = state_dict.pop(f"{prefix}{old}.{kind}")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *others)


def initialize_mlp(mlp):
    for module in mlp.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.normal_(module.bias, std=1e-6)


class EncoderBlock(nn.Module):
    """Self-attention and an MLP, each behind a layer norm and beside a shortcut."""

    def __init__(self, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer=LayerNorm):
        super().__init__()
        self.num_heads = num_heads
        self.ln_1 = norm_layer(hidden_dim)
        self.self_attention = nn.MultiheadAttention(hidden_dim, num_heads, dropout=attention_dropout, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = norm_layer(hidden_dim)
        self.mlp = MLPBlock(hidden_dim, mlp_dim, dropout)

    def forward(self, input):
        _assert(input.dim() == 3, f"Expected (batch_size, seq_length, hidden_dim) got {input.shape}")
        x = self.ln_1(input)
        x, _ = self.self_attention(x, x, x, need_weights=False)
        x = self.dropout(x) + input
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    """Position embeddings, blocks and a last layer norm."""

    def __init__(
        self, seq_length, num_layers, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer=LayerNorm
    ):
        super().__init__()
        self.pos_embedding = nn.Parameter(functions.empty(1, seq_length, hidden_dim).normal_(std=0.02))
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.Sequential()
        for index in range(num_layers):
            block = EncoderBlock(num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer)
            self.layers.add_module(f"encoder_layer_{index}", block)
        self.ln = norm_layer(hidden_dim)

    def forward(self, input):
        _assert(input.dim() == 3, f"Expected (batch_size, seq_length, hidden_dim) got {input.shape}")
        return self.ln(self.layers(self.dropout(input + self.pos_embedding)))


class VisionTransformer(nn.Module):
    """A transformer encoder over the patches of an image (Dosovitskiy and others, "An Image is Worth 16x16 Words", 2020)."""

    def __init__(
        self,
        image_size,
        patch_size,
        num_layers,
        num_heads,
        hidden_dim,
        mlp_dim,
        dropout=0.0,
        attention_dropout=0.0,
        num_classes=1000,
        representation_size=None,
        norm_layer=LayerNorm,
        conv_stem_configs=None,
    ):
        super().__init__()
        _assert(image_size % patch_size == 0, "Input shape indivisible by patch size!")
        self.image_size = image_size
        self.patch_size = patch_size
        self.hidden_dim = hidden_dim
        self.mlp_dim = mlp_dim
        self.attention_dropout = attention_dropout
        self.dropout = dropout
        self.num_classes = num_classes
        self.representation_size = representation_size
        self.norm_layer = norm_layer
        if conv_stem_configs is None:
            self.conv_proj = nn.Conv2d(3, hidden_dim, kernel_size=patch_size, stride=patch_size)
        else:
            self.conv_proj = stem(conv_stem_configs, hidden_dim)
        self.class_token = nn.Parameter(functions.zeros(1, 1, hidden_dim))
        self.seq_length = (image_size // patch_size) ** 2 + 1
        numbers = (num_layers, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer)
        self.encoder = Encoder(self.seq_length, *numbers)
        self.heads = nn.Sequential()
        if representation_size is not None:
            self.heads.add_module("pre_logits", nn.Linear(hidden_dim, representation_size))
            self.heads.add_module("act", nn.Tanh())
        self.heads.add_module("head", nn.Linear(representation_size or hidden_dim, num_classes))
        self._initialize()

    def _initialize(self):
        if isinstance(self.conv_proj, nn.Conv2d):
            fan_in = self.conv_proj.in_channels * self.conv_proj.kernel_size[0] * self.conv_proj.kernel_size[1]
            nn.init.trunc_normal_(self.conv_proj.weight, std=math.sqrt(1 / fan_in))
            nn.init.zeros_(self.conv_proj.bias)
        else:
            last = self.conv_proj.conv_last
            nn.init.normal_(last.weight, mean=0.0, std=math.sqrt(2.0 / last.out_channels))
            nn.init.zeros_(last.bias)
        if self.representation_size is not None:
            narrow = self.heads.pre_logits
            nn.init.trunc_normal_(narrow.weight, std=math.sqrt(1 / narrow.in_features))
            nn.init.zeros_(narrow.bias)
        nn.init.zeros_(self.heads.head.weight)
        nn.init.zeros_(self.heads.head.bias)

    def _process_input(self, x):
        """The embedded patches of images, NxPxC."""
        count, _channels, height, width = x.shape
        patch, size = self.patch_size, self.image_size
        _assert(height == size, f"Wrong image height! Expected {size} but got {height}!")
        _assert(width == size, f"Wrong image width! Expected {size} but got {width}!")
        down, across = height // patch, width // patch
        return self.conv_proj(x).reshape(count, self.hidden_dim, down * across).permute(0, 2, 1)

    def forward(self, x):
        x = self._process_input(x)
        count = x.shape[0]
        token = self.class_token.expand(count, -1, -1)
        x = self.encoder(functions.cat([token, x], dim=1))
        return self.heads(x[:, 0])


def stem(configs, hidden_dim):
    """Convolutions in place of the cutting into patches."""
    layers, width = nn.Sequential(), 3
    for index, config in enumerate(configs):
        block = Conv2dNormActivation(
            width,
            config.out_channels,
            config.kernel_size,
            config.stride,
            norm_layer=config.norm_layer,
            activation_layer=config.activation_layer,
        )
        layers.add_module(f"conv_bn_relu_{index}", block)
        width = config.out_channels
    layers.add_module("conv_last", nn.Conv2d(width, hidden_dim, kernel_size=1))
    return layers


def size_of_weights(kwargs, weights):
    _ovewrite_named_param(kwargs, "image_size", weights.meta["min_size"][0])


def constructor(name):
    numbers = MODELS[name]

    def construct(image_size=224, **kwargs):
        return VisionTransformer(image_size, *numbers, **kwargs)

    return define(name, construct, "Dosovitskiy and others, 2020", __name__, adjust=size_of_weights)


def interpolate_embeddings(image_size, patch_size, model_state, interpolation_mode="bicubic", reset_heads=False):
    """The state of a vision transformer for another image or patch size: its position embeddings resized.

    `model_state` is changed where the number of patches differs; with `reset_heads` the result then lacks the heads.
    """
    embedding = model_state["encoder.pos_embedding"]
    count, length, width = embedding.shape
    if count != 1:
        raise ValueError(f"Unexpected position embedding shape: {embedding.shape}")
    side = image_size // patch_size
    if side**2 + 1 == length:
        return model_state
    old_side = math.isqrt(length - 1)
    if old_side**2 != length - 1:
        raise ValueError(
            "seq_length is not a perfect square! Instead got seq_length_1d * seq_length_1d = "
            f"{old_side**2} and seq_length = {length - 1}"
        )
    grid = embedding[:, 1:, :].permute(0, 2, 1).reshape(1, width, old_side, old_side)
    grid = nn.functional.interpolate(grid, size=side, mode=interpolation_mode, align_corners=True)
    grid = grid.reshape(1, width, side**2).permute(0, 2, 1)
    model_state["encoder.pos_embedding"] = functions.cat([embedding[:, :1, :], grid], dim=1)
    if reset_heads:
        return type(model_state)((name, value) for name, value in model_state.items() if not name.startswith("heads"))
    return model_state


for _name in MODELS:
    globals()[_name] = constructor(_name)
    __all__.append(_name)

__getattr__ = attribute_of(__name__)
