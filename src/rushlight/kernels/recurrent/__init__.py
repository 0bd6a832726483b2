"""Recurrent layers: whole sequences, and the gates of one step."""

from __future__ import annotations

ELEMENTS = {  # module -> operation -> from how many elements on it is asked (see `routing`), and why
    # A step of a layer is a score of NumPy calls, 1 us each, or one phase of a program, 1 us for all (LSTM of 32 units, 8
    # samples, 20 steps: 32 us against 700). Sequences begin with an input that is smaller than the gates.
    "layers": {
        f"{kind}_{part}{way}": elements
        for kind in ("lstm", "rnn", "gru")
        for part, elements in (("layer", 1024), ("sequence", 256))
        for way in ("", "_backward")
    },
    # 4 samples of 8 units: 2 us against 13, their gradients 2 against 24.
    "steps": dict.fromkeys(("lstm_gates", "lstm_gates_backward", "gru_gates", "gru_gates_backward"), 1),
}
