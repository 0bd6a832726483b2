"""Recurrent layers: RNN, LSTM and GRU over padded or packed sequences."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

from ...amp.state import is_any_autocast_enabled
from ...base.device import DeviceLike
from ...base.dtypes import DType
from ...base.errors import hinted
from ...ops.recurrent_stacks import recurrent
from ...ops.table import functions
from ...tensor import Tensor
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module
from .own_methods import OwnMethods
from .rnn_cell import GRUCell, LSTMCell, RNNCell, RNNCellBase

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
_FUNCTIONS = {"LSTM": "lstm", "GRU": "gru", "RNN_TANH": "rnn_tanh", "RNN_RELU": "rnn_relu"}


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """``tensor`` with its entries along ``dim`` in the order of ``permutation``. Follows ``torch.nn.modules.rnn``."""
    return tensor.index_select(dim, permutation)


class RNNBase(Module):
    """Parameters and argument checks of a stack of recurrent layers. ``mode`` is LSTM, GRU, RNN_TANH or RNN_RELU.

    Parameters are named ``weight_ih_l0``, ``weight_hh_l0``, ``bias_ih_l0``, ``bias_hh_l0`` and, with projections,
    ``weight_hr_l0``, for layer 0 forwards; those of the backward direction end in ``_reverse``. Follows
    ``torch.nn.RNNBase``.
    """

    __constants__ = [
        "mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional",
        "proj_size",
    ]  # fmt: skip

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_arguments(dropout)
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)

        self._all_weights = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse") if bidirectional else ("",):
                shapes = self._weight_shapes(layer)
                for name, shape in shapes.items():
                    weight = Parameter(functions.empty(shape, device=device, dtype=dtype))
                    setattr(self, f"{name}_l{layer}{suffix}", weight)
                self._all_weights.append([f"{name}_l{layer}{suffix}" for name in shapes])
        self._flat_weights_names = [name for names in self._all_weights for name in names]
        self.reset_parameters()

    def _weight_shapes(self, layer):
        """Name to shape of the parameters of one direction of ``layer``."""
        directions = 2 if self.bidirectional else 1
        output_size = self.proj_size or self.hidden_size
        input_size = self.input_size if layer == 0 else output_size * directions
        rows = _GATES[self.mode] * self.hidden_size
        shapes = {"weight_ih": (rows, input_size), "weight_hh": (rows, output_size)}
        if self.bias:
            shapes.update(bias_ih=(rows,), bias_hh=(rows,))
        if self.proj_size > 0:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        return shapes

    def _check_arguments(self, dropout):
        if not isinstance(dropout, numbers.Number) or not 0 <= dropout <= 1 or isinstance(dropout, bool):
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and self.num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={self.num_layers}",
                stacklevel=4,
            )
        if not isinstance(self.batch_first, bool):
            raise TypeError(f"batch_first should be of type bool, got: {type(self.batch_first).__name__}")
        for name in ("input_size", "hidden_size"):
            if not isinstance(getattr(self, name), int):
                raise TypeError(f"{name} should be of type int, got: {type(getattr(self, name)).__name__}")
        for name in ("input_size", "hidden_size", "num_layers"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")

    def reset_parameters(self) -> None:
        """Draw every parameter uniformly within 1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """Does nothing: parameters need no common block of memory here."""

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters, one list a layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights(self):
        assigned = self.__dict__.get("_flat_weights")
        if assigned is not None:
            return assigned
        own = self._parameters  # where they are, unless a parametrization computes one
        return [own[name] if name in own else getattr(self, name) for name in self._flat_weights_names]

    @_flat_weights.setter
    def _flat_weights(self, weights):
        """Compute with these tensors in place of the parameters, until one of those is set or converted."""
        own = self.__dict__
        own.pop("_flat_weights", None)
        if len(weights) != len(self._flat_weights_names) or any(
            mine is not given for mine, given in zip(self._flat_weights, weights)
        ):
            own["_flat_weights"] = list(weights)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_flat_weights":
            object.__setattr__(self, name, value)
            return
        assigned = self.__dict__.get("_flat_weights")
        if assigned is not None and name in self._flat_weights_names:
            assigned[self._flat_weights_names.index(name)] = value
        super().__setattr__(name, value)

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        self.__dict__.pop("_flat_weights", None)
        return super()._apply(fn, recurse)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state["_flat_weights"] = self._flat_weights  # an attribute in PyTorch, whose files have it
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        weights = self.__dict__.pop("_flat_weights", None)
        if weights is not None:
            self._flat_weights = weights

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """ValueError or RuntimeError unless ``input`` has this layer's dtype, rank and size."""
        weight = getattr(self, self._flat_weights_names[0])
        if input.dtype is not weight.dtype and not is_any_autocast_enabled():
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). "
                f"Convert input: input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        expected = 3 if batch_sizes is None else 2
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                hinted(
                    f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}",
                    f"the input's shape is {tuple(input.shape)}; its last dimension holds the features of one step",
                )
            )

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of a hidden state for ``input``: (num_layers * directions, N, output size)."""
        return self._state_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def _state_size(self, input, batch_sizes, size):
        if batch_sizes is None:
            batch = input.size(0) if self.batch_first else input.size(1)
        else:
            batch = int(batch_sizes[0])
        return (self.num_layers * (2 if self.bidirectional else 1), batch, size)

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """RuntimeError unless ``hx`` has the expected shape."""
        if tuple(hx.shape) != tuple(expected_hidden_size):
            raise RuntimeError(
                hinted(
                    msg.format(expected_hidden_size, list(hx.shape)),
                    "a state's shape is (num_layers * directions, batch, size)",
                )
            )

    def check_forward_args(self, input: Tensor, hidden: Tensor, batch_sizes: Tensor | None) -> None:
        """Check ``input`` and the state against this layer's sizes."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Tensor, permutation: Tensor | None) -> Any:
        """The state with its sequences in the order of ``permutation``, or as it is for None."""
        return hx if permutation is None else apply_permutation(hx, permutation)

    def _run(self, input, batch_sizes, states):
        """Outputs and final states of the stack; ``states`` of None are zeros."""
        sizes = None if batch_sizes is None else batch_sizes.tolist()
        return recurrent(
            _FUNCTIONS[self.mode], input, sizes, states, self._flat_weights, self.bias, self.num_layers, self.dropout,
            self.training, self.bidirectional, batch_sizes is None and self.batch_first, self.proj_size > 0,
        )  # fmt: skip

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        defaults = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0}
        for name, default in (*defaults.items(), ("bidirectional", False)):
            if getattr(self, name) != default:
                parts.append(f"{name}={getattr(self, name)}")
        return ", ".join(parts)


class _OneStateRNN(OwnMethods, RNNBase):
    """RNN and GRU: the state of a layer is its hidden state."""

    _wrong_rank = "{}: Expected input to be 2D or 3D, got {}D instead"

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """(output, final hidden states) for a sequence (see the class) and the initial hidden states, zeros if None."""
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.dim() not in (2, 3):
            raise ValueError(self._wrong_rank.format(type(self).__name__, input.dim()))
        batched = input.dim() == 3
        if hx is not None and hx.dim() != input.dim():
            kind = "batched 3-D" if batched else "unbatched 2-D"
            raise RuntimeError(f"For {kind} input, hx should also be {input.dim()}-D but got {hx.dim()}-D tensor")
        batch_dim = 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(batch_dim)
            hx = None if hx is None else hx.unsqueeze(1)
        if hx is None:
            self.check_input(input, None)
        else:
            self.check_forward_args(input, hx, None)
        output, hidden = self._run(input, None, None if hx is None else (hx,))
        return (output, hidden) if batched else (output.squeeze(batch_dim), hidden.squeeze(1))

    def _forward_packed(self, packed, hx):
        input, batch_sizes, sorted_indices, unsorted_indices = packed
        if hx is None:
            self.check_input(input, batch_sizes)
        else:
            hx = self.permute_hidden(hx, sorted_indices)
            self.check_forward_args(input, hx, batch_sizes)
        output, hidden = self._run(input, batch_sizes, None if hx is None else (hx,))
        output = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
        return output, self.permute_hidden(hidden, unsorted_indices)


class RNN(_OneStateRNN):
    """Simple recurrent layers: h_t = tanh(W_ih x_t + b_ih + W_hh h_(t-1) + b_hh), or relu.

    Arguments as for :class:`LSTM` without ``proj_size``, and ``nonlinearity``, 'tanh' or 'relu', after ``num_layers``.
    Follows ``torch.nn.RNN``.

    >>> import rushlight as torch
    >>> output, hidden = torch.nn.RNN(10, 20, num_layers=2)(torch.randn(5, 3, 10))
    >>> output.shape, hidden.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    _wrong_rank = "{}: Expected input to be 2D or 3D, got {}D tensor instead"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            self.nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        modes = {"tanh": "RNN_TANH", "relu": "RNN_RELU"}
        if self.nonlinearity not in modes:
            raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(modes[self.nonlinearity], *args, **kwargs)


class GRU(_OneStateRNN):
    """Gated recurrent units: reset r, update z and candidate n give h_t = (1 - z) n + z h_(t-1).

    r and z are sigmoids and n = tanh(W_in x + b_in + r (W_hn h + b_hn)). Arguments as for :class:`LSTM` without
    ``proj_size``. After Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder" (2014). Follows
    ``torch.nn.GRU``.

    >>> import rushlight as torch
    >>> output, hidden = torch.nn.GRU(10, 20, bidirectional=True)(torch.randn(5, 3, 10))
    >>> output.shape, hidden.shape
    (torch.Size([5, 3, 40]), torch.Size([2, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory: gates i, f, o and candidate g give c_t = f c_(t-1) + i g and h_t = o tanh(c_t).

    Args:
        input_size, hidden_size: features of a step of the input and of the state.
        num_layers: layers stacked, each reading the outputs of the one below (1).
        bias: whether there are biases (True).
        batch_first: sequences are (N, steps, size) rather than (steps, N, size) (False).
        dropout: probability of dropping an output of every layer but the last, in training (0).
        bidirectional: also run backwards; outputs of both directions side by side (False).
        proj_size: if positive, project the hidden state to this size, smaller than ``hidden_size`` (0).

    A call takes a sequence, without batch dimension if it has one dimension less, or a PackedSequence, and (hidden,
    cell) states, zeros unless given, each (num_layers * directions, N, size); it returns (output, (hidden, cell)).
    ValueError for arguments out of range, RuntimeError for inputs and states of the wrong size. After Hochreiter and
    Schmidhuber, "Long Short-Term Memory" (1997). Follows ``torch.nn.LSTM``.

    >>> import rushlight as torch
    >>> output, (hidden, cell) = torch.nn.LSTM(10, 20, num_layers=2, batch_first=True)(torch.randn(3, 5, 10))
    >>> output.shape, hidden.shape
    (torch.Size([3, 5, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of a cell state for ``input``: (num_layers * directions, N, hidden_size)."""
        return self._state_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Check ``input`` and both states against this layer's sizes."""
        self.check_input(input, batch_sizes)
        expected = self.get_expected_hidden_size(input, batch_sizes)
        self.check_hidden_size(hidden[0], expected, "Expected hidden[0] size {}, got {}")
        expected = self.get_expected_cell_size(input, batch_sizes)
        self.check_hidden_size(hidden[1], expected, "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> tuple[Tensor, Tensor]:
        """Both states with their sequences in the order of ``permutation``, or as they are for None."""
        if permutation is None:
            return hx
        return apply_permutation(hx[0], permutation), apply_permutation(hx[1], permutation)

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """(output, (hidden, cell)) for a sequence (see the class) and the initial states, zeros if None."""
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.dim() not in (2, 3):
            raise ValueError(f"LSTM: Expected input to be 2D or 3D, got {input.dim()}D instead")
        batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if hx is not None:
            self._check_ranks(hx, batched)
        if not batched:
            input = input.unsqueeze(batch_dim)
            hx = None if hx is None else (hx[0].unsqueeze(1), hx[1].unsqueeze(1))
        if hx is None:
            self.check_input(input, None)
        else:
            self.check_forward_args(input, hx, None)
        output, hidden, cell = self._run(input, None, hx)
        if batched:
            return output, (hidden, cell)
        return output.squeeze(batch_dim), (hidden.squeeze(1), cell.squeeze(1))

    def _forward_packed(self, packed, hx):
        input, batch_sizes, sorted_indices, unsorted_indices = packed
        hx = None if hx is None else self.permute_hidden(hx, sorted_indices)
        for state in hx or ():
            self._check_samples(state, int(batch_sizes[0]))
        output, hidden, cell = self._run(input, batch_sizes, hx)
        output = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
        return output, self.permute_hidden((hidden, cell), unsorted_indices)

    def _check_samples(self, state, batch):
        """PyTorch's error, found in the first step, for a state of other than so many samples."""
        count = state.size(1) if state.dim() > 1 else batch
        if count != batch:
            gates = 4 * self.hidden_size
            line = (
                f"The size of tensor a ({count}) must match the size of tensor b ({batch}) at non-singleton dimension 0"
            )
            if count == 1:
                line = f"output with shape [1, {gates}] doesn't match the broadcast shape [{batch}, {gates}]"
            raise RuntimeError(
                hinted(line, f"a state's shape is (num_layers * directions, batch, size), here of {batch}")
            )

    @staticmethod
    def _check_ranks(hx, batched):
        dims = 3 if batched else 2
        if hx[0].dim() != dims or hx[1].dim() != dims:
            kind = "batched 3-D" if batched else "unbatched 2-D"
            raise RuntimeError(
                f"For {kind} input, hx and cx should also be {dims}-D "
                f"but got ({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
            )
