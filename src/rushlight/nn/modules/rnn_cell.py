"""Recurrent cells: one step of an RNN, LSTM or GRU."""

from __future__ import annotations

import math
from operator import itemgetter

from ...base.device import DeviceLike
from ...base.dtypes import DType
from ...ops.table import functions
from ...tensor import Tensor
from .. import init
from ..parameter import Parameter
from .module import Module

_NAMES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
_own_weights = itemgetter(*_NAMES)


class RNNCellBase(Module):
    """Parameters of a cell: ``weight_ih``, ``weight_hh``, ``bias_ih`` and ``bias_hh``, ``num_chunks`` gates in each.

    Follows ``torch.nn.RNNCellBase``.
    """

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias

        def parameter(*shape):
            return Parameter(functions.empty(shape, device=device, dtype=dtype))

        rows = num_chunks * hidden_size
        self.weight_ih = parameter(rows, input_size)
        self.weight_hh = parameter(rows, hidden_size)
        self.register_parameter("bias_ih", parameter(rows) if bias else None)
        self.register_parameter("bias_hh", parameter(rows) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw every parameter uniformly within 1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def _check_rank(self, tensor, what):
        if tensor.dim() not in (1, 2):
            raise ValueError(f"{type(self).__name__}: Expected {what} to be 1D or 2D, got {tensor.dim()}D instead")

    def _weights(self):
        """Both weights and both biases."""
        try:
            return _own_weights(self._parameters)  # as attributes each would cost a failed look-up and a call
        except KeyError:  # computed anew, for example by a parametrization
            return [getattr(self, name) for name in _NAMES]

    def _zeros(self, input):
        """The state that a step on ``input`` begins with where none is given."""
        return functions.zeros((input._array.shape[0], self.hidden_size), dtype=input.dtype, device=input.device)

    def _step(self, function, input, hx):
        """One step of a cell with a single state, which is zeros if None."""
        self._check_rank(input, "input")
        if hx is not None:
            self._check_rank(hx, "hidden")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
            hx = None if hx is None else hx.unsqueeze(0)
        if hx is None:
            hx = self._zeros(input)
        hidden = function(input, hx, *self._weights())
        return hidden if batched else hidden.squeeze(0)


class RNNCell(RNNCellBase):
    """One step of :class:`RNN`: (N, input_size), or (input_size), and the hidden state to the next hidden state.

    ``nonlinearity`` is 'tanh' or 'relu'. Follows ``torch.nn.RNNCell``.

    >>> import rushlight as torch
    >>> torch.nn.RNNCell(10, 20)(torch.randn(3, 10)).shape
    torch.Size([3, 20])
    """

    __constants__ = [*RNNCellBase.__constants__, "nonlinearity"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(
            functions.rnn_tanh_cell if self.nonlinearity == "tanh" else functions.rnn_relu_cell, input, hx
        )


class GRUCell(RNNCellBase):
    """One step of :class:`GRU`: (N, input_size), or (input_size), and the hidden state to the next hidden state.

    Follows ``torch.nn.GRUCell``.

    >>> import rushlight as torch
    >>> torch.nn.GRUCell(10, 20)(torch.randn(3, 10), torch.zeros(3, 20)).shape
    torch.Size([3, 20])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(functions.gru_cell, input, hx)


class LSTMCell(RNNCellBase):
    """One step of :class:`LSTM`: (N, input_size), or (input_size), and (hidden, cell) to the next (hidden, cell).

    Follows ``torch.nn.LSTMCell``.

    >>> import rushlight as torch
    >>> hidden, cell = torch.nn.LSTMCell(10, 20)(torch.randn(3, 10))
    >>> hidden.shape, cell.shape
    (torch.Size([3, 20]), torch.Size([3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        self._check_rank(input, "input")
        if isinstance(hx, (tuple, list)):
            for number, state in enumerate(hx):
                if state.dim() not in (1, 2):
                    self._check_rank(state, f"hx[{number}]")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
            hx = None if hx is None else tuple(state.unsqueeze(0) for state in hx)
        if hx is None:
            zeros = self._zeros(input)
            hx = (zeros, zeros)
        hidden, cell = functions.lstm_cell(input, hx, *self._weights())
        return (hidden, cell) if batched else (hidden.squeeze(0), cell.squeeze(0))
