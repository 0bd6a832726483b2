"""Programs that exchange what optimizers work on: run by a child process, ``python state_cases.py rushlight|torch states|tensors small|large nth``.

Each prints a line of JSON: its name, then the parameters after the steps, or the type and first line of the error. A crash
ends the output. Of the programs every nth is run.
"""

import copy
import importlib
import json
import sys
from itertools import islice

import numpy as np

# (class name, options): every state entry of every algorithm once.
OPTIMIZERS = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9, "weight_decay": 0.1}),
    ("Adam", {}),
    ("Adam", {"amsgrad": True}),
    ("AdamW", {}),
    ("RMSprop", {"momentum": 0.9, "centered": True}),
    ("Adagrad", {}),
    ("Adadelta", {}),
    ("Adamax", {}),
    ("NAdam", {}),
    ("RAdam", {}),
    ("ASGD", {"t0": 2}),
    ("Rprop", {}),
    ("Adafactor", {}),
    ("Muon", {}),
    ("LBFGS", {"max_iter": 2, "lr": 0.1}),
]
SHAPES = {"small": (6, 4), "large": (96, 64)}

# What is put into the place of a state tensor, given the module, the tensor and its parameter.
EXCHANGED = {
    "one element": lambda m, t, p: t.new_full((1,), 0.5),
    "no dimension": lambda m, t, p: t.new_full((), 0.5),
    "too large": lambda m, t, p: m.cat([t, t]) if t.dim() else m.stack([t, t]),
    "too small": lambda m, t, p: t[: len(t) // 2].clone() if t.dim() else t.new_full((0,), 0.5),
    "turned": lambda m, t, p: t.t().clone() if t.dim() == 2 else t.reshape(-1, 1).clone(),
    "one more dimension": lambda m, t, p: t[None].clone(),
    "one row": lambda m, t, p: t[:1].clone() if t.dim() else t.clone(),
    "expanded": lambda m, t, p: (t[:1] if t.dim() else t[None]).expand(t.shape if t.dim() else (2,)),
    "not contiguous": lambda m, t, p: t.t().clone().contiguous().t() if t.dim() == 2 else t.clone(),
    "float64": lambda m, t, p: t.double(),
    "float16": lambda m, t, p: t.half(),
    "int64": lambda m, t, p: t.long(),
    "bool": lambda m, t, p: t > 0,
    "parameter itself": lambda m, t, p: p.data,
    "overlapping": lambda m, t, p: m.cat([p.data, p.data])[1 : len(p) + 1],
    "empty": lambda m, t, p: t.new_empty((0,)),
    "None": lambda m, t, p: None,
    "number": lambda m, t, p: 0.5,
    "list": lambda m, t, p: [0.5],
    "text": lambda m, t, p: "0.5",
}


# What is done to a parameter or its gradient (``t``), which keeps its identity.
TENSORS = {
    **{
        f"data = {kind}": lambda m, t, p, kind=kind: setattr(t, "data", EXCHANGED[kind](m, t.detach(), p))
        for kind in EXCHANGED
    },
    "data = complex": lambda m, t, p: setattr(t, "data", t.detach() + 1j),
    "data = bfloat16": lambda m, t, p: setattr(t, "data", t.detach().bfloat16()),
    "data = the other's": lambda m, t, p: setattr(t, "data", p.data),
    "set_ smaller": lambda m, t, p: _set(m, t, lambda d: d.set_(m.ones(2, 2))),
    "set_ larger": lambda m, t, p: _set(m, t, lambda d: d.set_(m.ones(200, 70))),
    "set_ expanded": lambda m, t, p: _set(m, t, lambda d: d.set_(m.ones(1, t.shape[1]).expand(t.shape))),
    "resize_ larger": lambda m, t, p: _set(m, t, lambda d: d.resize_(len(t), 2 * t.shape[1]).fill_(0.5)),
    "resize_ smaller": lambda m, t, p: _set(m, t, lambda d: d.resize_(2, 2)),
    "t_": lambda m, t, p: _set(m, t, lambda d: d.t_()),
    "unsqueeze_": lambda m, t, p: _set(m, t, lambda d: d.unsqueeze_(0)),
    "squeeze": lambda m, t, p: setattr(t, "data", t.detach().reshape(-1)),
}


def _set(m, tensor, change):
    with m.no_grad():
        change(tensor)


def array(tensor):
    tensor = tensor.detach()
    flat = (tensor.abs() if tensor.is_complex() else tensor).double().numpy().ravel()
    return [list(tensor.shape), *flat[:: 1 + len(flat) // 100].tolist()]


class Program:
    """A parameter, an optimizer, and steps with fixed gradients."""

    def __init__(self, module, name, options, shape, warm):
        generator = np.random.default_rng(0)
        draw = lambda: module.tensor(generator.standard_normal(shape).astype(np.float32))
        self.module, self.grads = module, [draw() for _ in range(3)]
        self.params = [draw().requires_grad_() for _ in range(2)]
        self.optimizer = getattr(module.optim, name)(self.params, **copy.deepcopy(options))
        self.count = 0
        for _ in range(warm):
            self.step()

    def step(self, keep=False):
        if not keep:
            for index, param in enumerate(self.params):
                param.grad = self.grads[(index + self.count) % 3].clone()
        self.count += 1
        self.optimizer.step(*([lambda: self.module.tensor(1.0)] if type(self.optimizer).__name__ == "LBFGS" else []))

    def state(self, index=0):
        return self.optimizer.state[self.params[index]]


def states_of(module, name, options):
    found = Program(module, name, options, (4, 3), 2).state()
    return sorted(key for key, value in found.items() if hasattr(value, "dtype"))


def put(program, key, kind, loaded):
    """Exchange a state tensor, by a checkpoint or directly."""
    found = EXCHANGED[kind](program.module, program.state()[key], program.params[0])
    _put(program, lambda state: state.__setitem__(key, found), loaded)


def _put(program, change, loaded):
    if not loaded:
        change(program.state())
        return
    saved = program.optimizer.state_dict()
    saved["state"] = {index: dict(values) for index, values in saved["state"].items()}
    change(saved["state"][0])
    program.optimizer.load_state_dict(saved)


def state_programs(module, shape):
    """(name, function that takes a program and exchanges something, optimizer, options)."""
    for name, options in OPTIMIZERS:
        label = name + "".join(f" {key}={value}" for key, value in options.items())
        for loaded in (False, True):
            way = "loaded" if loaded else "set"
            for key in states_of(module, name, options):
                for kind in EXCHANGED:
                    yield (
                        f"{label}: {key} {way}: {kind}", name, options,
                        lambda program, key=key, kind=kind, loaded=loaded: put(program, key, kind, loaded),
                    )  # fmt: skip
                missing = lambda program, key=key, loaded=loaded: _put(program, lambda s: s.pop(key), loaded)
                yield f"{label}: {key} {way}: missing", name, options, missing
            extra = lambda program, loaded=loaded: _put(program, lambda s: s.update(extra=1), loaded)
            yield f"{label}: {way}: extra key", name, options, extra


def tensor_programs(module, shape):
    """The same for what happens to a parameter or a gradient."""
    for name, options in OPTIMIZERS:
        label = name + "".join(f" {key}={value}" for key, value in options.items())
        for kind, change in TENSORS.items():
            for is_grad in (False, True):

                def exchange(program, change=change, is_grad=is_grad):
                    first, second = program.params
                    for index, param in enumerate(program.params):
                        param.grad = program.grads[index].clone()
                    change(module, first.grad if is_grad else first, second)

                yield f"{label}: {'grad' if is_grad else 'param'} {kind}", name, options, exchange


def outcome(run):
    try:
        return {"found": run()}
    except Exception as error:
        return {"error": [type(error).__name__, *str(error).split("\n")]}


def run_all(module, kind, shape, nth):
    states = kind == "states"
    programs = (state_programs if states else tensor_programs)(module, shape)
    for label, name, options, change in islice(programs, 0, None, nth):
        if name == "Muon" and shape == SHAPES["large"]:
            continue  # takes PyTorch long, and is written in operations on tensors

        def run():
            program = Program(module, name, options, shape, 4)
            change(program)
            for _ in range(2):
                program.step(keep=not states)
            return [array(param) for param in program.params]

        yield label, outcome(run)


if __name__ == "__main__":
    module = importlib.import_module(sys.argv[1])
    module.set_num_threads(2 if sys.argv[1] == "rushlight" else 1)
    for label, found in run_all(module, sys.argv[2], SHAPES[sys.argv[3]], int(sys.argv[4])):
        print(json.dumps([label, found]), flush=True)
