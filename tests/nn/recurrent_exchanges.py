"""Programs that exchange the weights and states of recurrent layers: run by a child process, see `main`.

Each prints a line of JSON: its name, then the outputs and gradients, or the type and the lines of the error.
"""

import importlib
import json
import sys
from itertools import islice

import numpy as np

# What is put into the place of a weight, bias or state.
EXCHANGED = {
    "one element": lambda m, t: t.new_full((1,), 0.1),
    "no dimension": lambda m, t: t.new_full((), 0.1),
    "empty": lambda m, t: t.new_empty((0,)),
    "twice the rows": lambda m, t: m.cat([t, t]),
    "half the rows": lambda m, t: t[: len(t) // 2].clone(),
    "one row": lambda m, t: t[:1].clone(),
    "one row more": lambda m, t: m.cat([t, t[:1]]),
    "one column less": lambda m, t: t[..., 1:].clone(),
    "one column more": lambda m, t: m.cat([t, t[..., :1]], -1),
    "half the columns": lambda m, t: t[..., : t.shape[-1] // 2].clone(),
    "turned": lambda m, t: t.transpose(0, -1).clone(),
    "one more dimension": lambda m, t: t[None].clone(),
    "flat": lambda m, t: t.reshape(-1).clone(),
    "expanded": lambda m, t: t[:1].expand(t.shape),
    "not contiguous": lambda m, t: m.stack([t, t], -1)[..., 0],
    "turned in memory": lambda m, t: t.transpose(0, -1).clone().transpose(0, -1),
    "float64": lambda m, t: t.double(),
    "float16": lambda m, t: t.half(),
    "int64": lambda m, t: (10 * t).long(),
    "same": lambda m, t: t.clone(),
}
# (class name, options): the sizes (inputs, hidden units) are the second part of a case.
LAYERS = [
    ("RNN", {}),
    ("RNN", {"nonlinearity": "relu", "num_layers": 2}),
    ("GRU", {}),
    ("GRU", {"bias": False}),
    ("GRU", {"bidirectional": True}),
    ("LSTM", {}),
    ("LSTM", {"num_layers": 2, "bias": False}),
    ("LSTM", {"bidirectional": True}),
    ("LSTM", {"proj_size": 3}),
    ("RNNCell", {}),
    ("GRUCell", {}),
    ("LSTMCell", {}),
]
SIZES = {"small": (4, 6, 3, 5), "large": (24, 128, 16, 12)}  # inputs, hidden, batch, steps
WAYS = "padded", "packed", "trained"


def digest(tensor):
    tensor = tensor.detach()
    flat = tensor.double().numpy().ravel()
    return [list(tensor.shape), *flat[:: 1 + len(flat) // 20].tolist()]


class Program:
    """A layer, an input and states."""

    def __init__(self, module, name, options, sizes, way):
        inputs, hidden, batch, steps = sizes
        generator = np.random.default_rng(0)
        draw = lambda *shape: module.tensor((generator.standard_normal(shape) / 3).astype(np.float32))
        self.module, self.way, self.cell = module, way, name.endswith("Cell")
        self.layer = getattr(module.nn, name)(inputs, hidden, **options)
        for param in self.layer.parameters():
            param.data = draw(*param.shape)
        self.input = draw(batch, inputs) if self.cell else draw(steps, batch, inputs)
        if way == "packed" and not self.cell:
            lengths = [max(1, steps - k) for k in range(batch)]
            self.input = module.nn.utils.rnn.pack_padded_sequence(self.input, lengths)
        count = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
        first = () if self.cell else (count,)
        self.states = [draw(*first, batch, options.get("proj_size", hidden))]
        if name.startswith("LSTM"):
            self.states.append(draw(*first, batch, hidden))
        self.run()

    def run(self):
        states = self.states[0] if len(self.states) == 1 else tuple(self.states)
        with self.module.set_grad_enabled(self.way == "trained"):
            found = self.layer(self.input, states)
        found = [found] if self.cell and len(self.states) == 1 else list(found)
        found = [
            part
            for each in found
            for part in (each if isinstance(each, tuple) and not hasattr(each, "data") else [each])
        ]
        found = [part.data if not hasattr(part, "detach") else part for part in found]
        if self.way != "trained":
            return [digest(part) for part in found]
        self.layer.zero_grad()
        sum((part * part).sum() for part in found).backward()
        return [digest(part) for part in found] + [digest(param.grad) for param in self.layer.parameters()]


def programs(module):
    """(name, layer, options, way, function that exchanges something)."""
    for name, options in LAYERS:
        label = name + "".join(f" {key}={value}" for key, value in options.items())
        for way in WAYS:
            if name.endswith("Cell") and way == "packed":
                continue
            example = getattr(module.nn, name)(4, 6, **options)
            for weight in [key for key, _ in example.named_parameters()]:
                for kind, make in EXCHANGED.items():

                    def exchange(program, weight=weight, make=make):
                        param = getattr(program.layer, weight)
                        param.data = make(program.module, param.detach())

                    yield f"{label} {way}: {weight}: {kind}", name, options, way, exchange
            for place in range(2 if name.startswith("LSTM") else 1):
                for kind, make in EXCHANGED.items():

                    def exchange(program, place=place, make=make):
                        program.states[place] = make(program.module, program.states[place])

                    yield f"{label} {way}: state {place}: {kind}", name, options, way, exchange


def outcome(run):
    try:
        return {"found": run()}
    except Exception as error:
        return {"error": [type(error).__name__, *str(error).split("\n")]}


def main(library, size, nth):
    """Run every nth program with ``library``, "rushlight" or "torch"."""
    module = importlib.import_module(library)
    for label, name, options, way, exchange in islice(programs(module), 0, None, nth):

        def run():
            program = Program(module, name, options, SIZES[size], way)
            exchange(program)
            return program.run()

        print(json.dumps([label, outcome(run)]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
