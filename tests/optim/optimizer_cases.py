"""What the tests of optimizers share: one row for each algorithm and set of options, and parameters with gradients."""

import numpy as np

# (class name, options): every branch of every formula.
ELEMENTWISE = [
    ("SGD", {}),
    ("SGD", {"weight_decay": 0.1, "maximize": True}),
    ("SGD", {"momentum": 0.9}),
    ("SGD", {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    ("SGD", {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1, "maximize": True}),
    ("SGD", {"momentum": 0.9, "nesterov": True}),
    ("Adam", {}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1}),
    ("Adam", {"maximize": True, "betas": (0.5, 0.6), "eps": 1e-3}),
    ("Adam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("AdamW", {}),
    ("AdamW", {"amsgrad": True, "maximize": True}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9, "weight_decay": 0.1}),
    ("RMSprop", {"centered": True, "maximize": True}),
    ("RMSprop", {"centered": True, "momentum": 0.5}),
    ("Adagrad", {}),
    ("Adagrad", {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5, "maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"weight_decay": 0.1, "rho": 0.8, "maximize": True}),
    ("Adamax", {}),
    ("Adamax", {"weight_decay": 0.1, "maximize": True}),
    ("NAdam", {}),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("NAdam", {"weight_decay": 0.1, "maximize": True}),
    ("RAdam", {}),
    ("RAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"weight_decay": 0.1, "maximize": True}),
    ("ASGD", {}),
    ("ASGD", {"t0": 3, "lambd": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("Rprop", {}),
    ("Rprop", {"lr": 0.1, "etas": (0.4, 1.5), "maximize": True}),
]
OTHERS = [
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.1, "weight_decay": 0.1, "eps": (1e-4, 0.1), "d": 2.0, "maximize": True}),
    ("LBFGS", {"lr": 0.1, "max_iter": 4}),
    ("LBFGS", {"line_search_fn": "strong_wolfe", "max_iter": 5, "history_size": 3}),
]
NAMES = sorted({name for name, _ in ELEMENTWISE})


def label(case):
    name, options = case
    return name + "".join(f"-{key}={value}" for key, value in options.items())


def arrays(shapes, dtype="float32", seed=0):
    """Random arrays, one for each shape."""
    generator = np.random.default_rng(seed)
    found = [generator.standard_normal(shape) for shape in shapes]
    if np.dtype(dtype).kind == "c":
        found = [array + 1j * generator.standard_normal(array.shape) for array in found]
    return [np.asarray(array, dtype) for array in found]


def parameters(module, values):
    """Leaves of ``module`` (rushlight or torch) that hold copies of ``values``."""
    return [module.tensor(value.copy()).requires_grad_() for value in values]


def set_gradients(module, params, values):
    """Give every parameter its gradient; None for none."""
    for param, value in zip(params, values):
        param.grad = None if value is None else module.tensor(value.copy())


def array_of(tensor):
    return tensor.detach().numpy()
