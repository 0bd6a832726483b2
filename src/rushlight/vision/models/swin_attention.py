"""Attention within shifted windows, of Swin and Swin v2."""

from __future__ import annotations

import math

from rushlight.ops.table import functions

from ... import fx, nn

LEAST = -100.0  # what hides a pair of positions that only the shift made neighbours


def windows_of(x, window_size):
    """An image BxHxWxC as its windows, one a row: (B * windows, positions of a window, C)."""
    batch, height, width, channels = x.shape
    down, across = window_size
    x = x.view(batch, height // down, down, width // across, across, channels)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, down * across, channels)


def image_of(x, window_size, batch, height, width):
    """The inverse of `windows_of`."""
    down, across = window_size
    x = x.view(batch, height // down, width // across, down, across, -1)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(batch, height, width, -1)


def hidden_pairs(x, height, width, window_size, shift):
    """What is added to the scores of each window: `LEAST` where two positions come from different sides of the image."""
    regions = x.new_zeros((1, height, width, 1))
    number = 0
    bounds = [((0, -size), (-size, -step), (-step, None)) for size, step in zip(window_size, shift, strict=True)]
    for top, bottom in bounds[0]:
        for left, right in bounds[1]:
            regions[:, top:bottom, left:right] = number
            number += 1
    regions = windows_of(regions, window_size).squeeze(-1)
    apart = regions.unsqueeze(1) - regions.unsqueeze(2)
    return apart.masked_fill(apart != 0, LEAST)


def without_key_bias(bias):
    """The bias of queries, keys and values with that of the keys zero."""
    bias, third = bias.clone(), bias.numel() // 3
    bias[third : 2 * third].zero_()
    return bias


def scores_of(queries, keys, logit_scale):
    """Scaled dot products, or cosines times a learnt scale."""
    if logit_scale is None:
        return (queries * queries.shape[-1] ** -0.5).matmul(keys.transpose(-2, -1))
    normalize = nn.functional.normalize
    cosines = normalize(queries, dim=-1) @ normalize(keys, dim=-1).transpose(-2, -1)
    return cosines * functions.clamp(logit_scale, max=math.log(100.0)).exp()


@fx.wrap
def shifted_window_attention(
    input,
    qkv_weight,
    proj_weight,
    relative_position_bias,
    window_size,
    num_heads,
    shift_size,
    attention_dropout=0.0,
    dropout=0.0,
    qkv_bias=None,
    proj_bias=None,
    logit_scale=None,
    training=True,
):
    """Self-attention within the windows of an image BxHxWxC that is rolled by `shift_size` first, and back afterwards."""
    functional = nn.functional
    batch, height, width, channels = input.shape
    right, below = -width % window_size[1], -height % window_size[0]
    x = functional.pad(input, (0, 0, 0, right, 0, below))
    padded = (height + below, width + right)
    shift = [0 if size >= whole else step for size, whole, step in zip(window_size, padded, shift_size)]
    shifted = sum(shift) > 0
    if shifted:
        x = functions.roll(x, shifts=(-shift[0], -shift[1]), dims=(1, 2))
    image = x
    x = windows_of(x, window_size)
    rows, positions = x.shape[:2]
    if logit_scale is not None and qkv_bias is not None:
        qkv_bias = without_key_bias(qkv_bias)
    qkv = functional.linear(x, qkv_weight, qkv_bias)
    qkv = qkv.reshape(rows, positions, 3, num_heads, channels // num_heads).permute(2, 0, 3, 1, 4)
    queries, keys, values = qkv[0], qkv[1], qkv[2]
    scores = scores_of(queries, keys, logit_scale) + relative_position_bias
    if shifted:
        hidden = hidden_pairs(image, *padded, window_size, shift)
        count = hidden.shape[0]
        scores = scores.view(rows // count, count, num_heads, positions, positions)
        scores = (scores + hidden.unsqueeze(1).unsqueeze(0)).view(-1, num_heads, positions, positions)
    weights = functional.dropout(functional.softmax(scores, dim=-1), p=attention_dropout, training=training)
    x = weights.matmul(values).transpose(1, 2).reshape(rows, positions, channels)
    x = functional.dropout(functional.linear(x, proj_weight, proj_bias), p=dropout, training=training)
    x = image_of(x, window_size, batch, *padded)
    if shifted:
        x = functions.roll(x, shifts=tuple(shift), dims=(1, 2))
    return x[:, :height, :width, :].contiguous()


@fx.wrap
def _get_relative_position_bias(relative_position_bias_table, relative_position_index, window_size):
    """The bias of each head for each pair of positions of a window, 1 x heads x positions x positions."""
    positions = window_size[0] * window_size[1]
    bias = relative_position_bias_table[relative_position_index].view(positions, positions, -1)
    return bias.permute(2, 0, 1).contiguous().unsqueeze(0)


class ShiftedWindowAttention(nn.Module):
    """`shifted_window_attention` with its parameters, and a table of biases by relative position."""

    def __init__(
        self,
        dim,
        window_size,
        shift_size,
        num_heads,
        qkv_bias=True,
        proj_bias=True,
        attention_dropout=0.0,
        dropout=0.0,
    ):
        super().__init__()
        if len(window_size) != 2 or len(shift_size) != 2:
            raise ValueError("window_size and shift_size must be of length 2")
        self.window_size, self.shift_size, self.num_heads = window_size, shift_size, num_heads
        self.attention_dropout, self.dropout = attention_dropout, dropout
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim, bias=proj_bias)
        self.define_relative_position_bias_table()
        self.define_relative_position_index()

    def define_relative_position_bias_table(self):
        """Make the table: a row for each distance between two positions of a window."""
        height, width = self.window_size
        table = functions.zeros((2 * height - 1) * (2 * width - 1), self.num_heads)
        self.relative_position_bias_table = nn.Parameter(table)
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def define_relative_position_index(self):
        """Make the row of the table that each pair of positions has."""
        height, width = self.window_size
        rows = functions.arange(height).repeat_interleave(width)
        columns = functions.arange(width).repeat(height)
        down = rows[:, None] - rows[None, :] + height - 1
        across = columns[:, None] - columns[None, :] + width - 1
        self.register_buffer("relative_position_index", (down * (2 * width - 1) + across).flatten())

    def get_relative_position_bias(self):
        """The bias of each head for each pair of positions."""
        return _get_relative_position_bias(
            self.relative_position_bias_table, self.relative_position_index, self.window_size
        )

    def scale(self):
        """The further argument of the function: what multiplies the cosines, where scores are not dot products."""
        return {}

    def forward(self, x):
        bias = self.get_relative_position_bias()
        return shifted_window_attention(
            x,
            self.qkv.weight,
            self.proj.weight,
            bias,
            self.window_size,
            self.num_heads,
            shift_size=self.shift_size,
            attention_dropout=self.attention_dropout,
            dropout=self.dropout,
            qkv_bias=self.qkv.bias,
            proj_bias=self.proj.bias,
            training=self.training,
            **self.scale(),
        )


class ShiftedWindowAttentionV2(ShiftedWindowAttention):
    """Cosines times a learnt scale, and biases that a small network makes of the logarithms of distances."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        heads = self.num_heads
        self.logit_scale = nn.Parameter(functions.log(10 * functions.ones((heads, 1, 1))))
        self.cpb_mlp = nn.Sequential(nn.Linear(2, 512), nn.ReLU(inplace=True), nn.Linear(512, heads, bias=False))
        if self.qkv.bias is not None:
            third = self.qkv.bias.numel() // 3
            self.qkv.bias[third : 2 * third].data.zero_()

    def define_relative_position_bias_table(self):
        """Make what the network sees of each distance: its logarithm in both directions."""
        axes = [functions.arange(1 - size, size).float() for size in self.window_size]
        distances = functions.stack(functions.meshgrid(axes, indexing="ij")).permute(1, 2, 0).contiguous().unsqueeze(0)
        for axis, size in enumerate(self.window_size):
            distances[:, :, :, axis] /= size - 1
        distances *= 8
        logarithms = functions.sign(distances) * functions.log2(functions.abs(distances) + 1.0) / 3.0
        self.register_buffer("relative_coords_table", logarithms)

    def get_relative_position_bias(self):
        """The bias of each head for each pair of positions, between 0 and 16."""
        table = self.cpb_mlp(self.relative_coords_table).view(-1, self.num_heads)
        bias = _get_relative_position_bias(table, self.relative_position_index, self.window_size)
        return 16 * functions.sigmoid(bias)

    def scale(self):
        """The learnt scale of the cosines, as the function takes it."""
        return {"logit_scale": self.logit_scale}
