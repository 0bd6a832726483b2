"""Every optimizer with every option against PyTorch: parameters, state_dict, printed form, over many steps."""

import copy

import numpy as np
import pytest
from optimizer_cases import ELEMENTWISE, NAMES, OTHERS, array_of, arrays, label, parameters, set_gradients

import rushlight as rl
from rushlight import optim

torch = pytest.importorskip("torch")

SHAPES = [(3,), (2, 3), (), (1, 4, 2)]
TOLERANCE = {"float32": (3e-5, 3e-6), "complex64": (3e-5, 3e-6), "float64": (1e-9, 1e-10)}


def pair(name, options, shapes=SHAPES, dtype="float32"):
    values = arrays(shapes, dtype)
    ours, theirs = parameters(rl, values), parameters(torch, values)
    return (
        ours,
        theirs,
        getattr(optim, name)(ours, **copy.deepcopy(options)),
        getattr(torch.optim, name)(theirs, **copy.deepcopy(options)),
    )


def step_both(ours, theirs, mine, real, number, dtype="float32", missing=()):
    gradients = arrays([tuple(param.shape) for param in theirs], dtype, seed=number + 1)
    gradients = [None if index in missing else gradient for index, gradient in enumerate(gradients)]
    set_gradients(rl, ours, gradients)
    set_gradients(torch, theirs, gradients)
    mine.step()
    real.step()


def assert_same_tensor(mine, real, dtype="float32"):
    relative, absolute = TOLERANCE[dtype]
    mine, real = array_of(mine), array_of(real)
    assert mine.dtype == real.dtype
    assert mine.shape == real.shape
    np.testing.assert_allclose(mine, real, relative, absolute)


def assert_same_value(mine, real, dtype="float32"):
    if isinstance(real, torch.Tensor):
        assert isinstance(mine, rl.Tensor)
        assert_same_tensor(mine, real, dtype)
    elif isinstance(real, (list, tuple)):
        assert len(mine) == len(real)
        for a, b in zip(mine, real):
            assert_same_value(a, b, dtype)
    elif isinstance(real, dict):
        assert set(mine) == set(real)
        for key in real:
            assert_same_value(mine[key], real[key], dtype)
    elif isinstance(real, float):
        assert mine == pytest.approx(real, rel=1e-4, abs=1e-6)
    else:
        assert mine == real


def assert_same(ours, theirs, mine, real, dtype="float32"):
    for a, b in zip(ours, theirs):
        assert_same_tensor(a, b, dtype)
    assert_same_value(mine.state_dict(), real.state_dict(), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("case", ELEMENTWISE, ids=label)
def test_many_steps(case, dtype):
    ours, theirs, mine, real = pair(*case, dtype=dtype)
    assert repr(mine) == repr(real)
    for number in range(12):
        step_both(ours, theirs, mine, real, number, dtype, missing=(1,) if number == 3 else ())
    assert_same(ours, theirs, mine, real, dtype)


@pytest.mark.parametrize("case", ELEMENTWISE, ids=label)
def test_a_parameter_of_several_blocks(case):
    ours, theirs, mine, real = pair(*case, shapes=[(70, 1000), (40000,)])
    for number in range(2):
        step_both(ours, theirs, mine, real, number)
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(array_of(a), array_of(b), 1e-3, 1e-4)


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "NAdam"])
def test_half_precision(name):
    ours, theirs, mine, real = pair(name, {"lr": 0.01, **({} if name == "SGD" else {"eps": 1e-3})}, dtype="float16")
    for number in range(5):
        step_both(ours, theirs, mine, real, number, "float16")
    for a, b in zip(ours, theirs):
        assert a.dtype is rl.float16
        np.testing.assert_allclose(array_of(a), array_of(b), 5e-3, 5e-3)


@pytest.mark.parametrize("layout", ["parameter", "gradient", "both"])
@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_strided_parameters_and_gradients(name, layout):
    values, gradients = arrays([(300, 200)])[0], arrays([(300, 200)], seed=1)[0]
    results = []
    for module, library in ((rl, optim), (torch, torch.optim)):
        param, grad = module.tensor(values.copy()), module.tensor(gradients.copy())
        if layout != "gradient":
            param = module.tensor(np.ascontiguousarray(values.T)).T
        if layout != "parameter":
            grad = module.tensor(np.ascontiguousarray(gradients.T)).T
        param.requires_grad_()
        optimizer = getattr(library, name)([param], lr=0.1)
        for _ in range(3):
            param.grad = grad
            optimizer.step()
        results.append(array_of(param))
    np.testing.assert_allclose(*results, 1e-5, 1e-6)


@pytest.mark.parametrize("case", OTHERS[:2], ids=label)
def test_adafactor(case):
    ours, theirs, mine, real = pair(*case)
    for number in range(6):
        step_both(ours, theirs, mine, real, number)
    assert repr(mine) == repr(real)
    assert_same(ours, theirs, mine, real)


@pytest.mark.parametrize("adjust", [None, "match_rms_adamw"])
@pytest.mark.parametrize("nesterov", [True, False])
def test_muon(adjust, nesterov):
    pytest.importorskip("ml_dtypes")
    options = {"lr": 0.1, "adjust_lr_fn": adjust, "nesterov": nesterov}
    ours, theirs, mine, real = pair("Muon", options, shapes=[(4, 6), (6, 4), (5, 5)])
    for number in range(3):
        step_both(ours, theirs, mine, real, number)
    assert repr(mine) == repr(real)
    for a, b in zip(ours, theirs):  # the iterations are in bfloat16: 8 bits
        np.testing.assert_allclose(array_of(a), array_of(b), 0.05, 0.02)
    for a, b in zip(ours, theirs):
        assert_same_tensor(mine.state[a]["momentum_buffer"], real.state[b]["momentum_buffer"])


LBFGS = [("LBFGS", {"max_iter": 6, "lr": 0.05, "history_size": 2})]
LBFGS += [("LBFGS", {"line_search_fn": "strong_wolfe", "max_iter": 4, "max_eval": most}) for most in (1, 2, 3, 6)]


def rosenbrock(x, y):
    return ((1 - x) ** 2).sum() + 10 * ((y - x**2) ** 2).sum()


@pytest.mark.parametrize("case", OTHERS[2:] + LBFGS, ids=label)
def test_lbfgs(case):
    ours, theirs, mine, real = pair(*case, shapes=[(3,), (3,)], dtype="float64")
    for params, optimizer in ((ours, mine), (theirs, real)):

        def closure(params=params, optimizer=optimizer):
            optimizer.zero_grad()
            loss = rosenbrock(*params)
            loss.backward()
            return loss

        for _ in range(4):
            optimizer.step(closure)
    assert_same(ours, theirs, mine, real, "float64")


def torch_differentiates(case):
    """PyTorch itself fails over saved tensors that it changed, for some algorithms with differentiable=True."""
    return case[0] not in ("Adamax", "Rprop") and not case[1].get("centered") and not case[1].get("amsgrad")


@pytest.mark.parametrize("case", [case for case in ELEMENTWISE if torch_differentiates(case)], ids=label)
def test_differentiable_step(case):
    name, options = case
    values, gradients = arrays([(4,)], "float64")[0], arrays([(4,)] * 3, "float64", seed=5)
    results = []
    for module, library in ((rl, optim), (torch, torch.optim)):
        start = module.tensor(values.copy()).requires_grad_()
        grads = [module.tensor(gradient.copy()).requires_grad_() for gradient in gradients]
        param = start.clone()
        optimizer = getattr(library, name)([param], differentiable=True, **options)
        for grad in grads:
            param.grad = grad * 1
            optimizer.step()
        (param**2).sum().backward()
        found = [values * 0 if leaf.grad is None else array_of(leaf.grad) for leaf in [start, *grads]]
        results.append([array_of(param), *found])
    for mine, real in zip(*results):  # PyTorch's bias corrections are float32 in this mode
        np.testing.assert_allclose(mine, real, 1e-4, 1e-7)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "SGD"] + ["SGD"])
def test_a_tensor_as_learning_rate(name):
    results = []
    for module, library in ((rl, optim), (torch, torch.optim)):
        params = parameters(module, arrays([(3,)]))
        optimizer = getattr(library, name)(params, lr=module.tensor(0.25))
        for number in range(3):
            set_gradients(module, params, arrays([(3,)], seed=number))
            optimizer.step()
        optimizer.param_groups[0]["lr"].fill_(0.5)
        set_gradients(module, params, arrays([(3,)], seed=9))
        optimizer.step()
        results.append((array_of(params[0]), repr(optimizer)))
    np.testing.assert_allclose(results[0][0], results[1][0], 1e-5, 1e-6)
    assert results[0][1] == results[1][1]


def translated(value, module):
    """A state dict with the tensors of the other module."""
    if isinstance(value, (torch.Tensor, rl.Tensor)):
        return module.tensor(array_of(value).copy())
    if isinstance(value, dict):
        return {key: translated(entry, module) for key, entry in value.items()}
    return [translated(entry, module) for entry in value] if isinstance(value, list) else value


@pytest.mark.parametrize("case", ELEMENTWISE + OTHERS[:2], ids=label)
def test_state_dicts_cross(case):
    """PyTorch goes on from our checkpoint, and we from PyTorch's."""
    ours, theirs, mine, real = pair(*case)
    for number in range(3):
        step_both(ours, theirs, mine, real, number)
    mine_dict, real_dict = mine.state_dict(), real.state_dict()
    mine.load_state_dict(translated(real_dict, rl))
    real.load_state_dict(translated(mine_dict, torch))
    for number in range(3, 6):
        step_both(ours, theirs, mine, real, number)
    assert_same(ours, theirs, mine, real)


def test_state_dict_of_several_groups_and_names():
    results = []
    for module, library in ((rl, optim), (torch, torch.optim)):
        a, b, c = parameters(module, arrays([(2,), (3,), ()]))
        optimizer = library.AdamW([{"params": [("a", a)], "lr": 0.1}, {"params": [("b", b), ("c", c)]}], lr=0.2)
        set_gradients(module, [a, c], arrays([(2,), ()]))
        optimizer.step()
        results.append((optimizer.state_dict(), repr(optimizer)))
    assert_same_value(results[0][0], results[1][0])
    assert results[0][1] == results[1][1]


def errors(module, library):
    """(error type, first line) of calls that must fail, and the warnings of calls that must warn."""
    p, q = parameters(module, arrays([(2,), (2,)]))
    set_gradients(module, [p, q], arrays([(2,), (2,)]))
    tensor = module.tensor
    sgd, adam = library.SGD, library.Adam
    calls = {
        "bare tensor": lambda: sgd(p),
        "empty": lambda: sgd([]),
        "not a leaf": lambda: sgd([p * 2]),
        "in two groups": lambda: sgd([{"params": [p]}, {"params": [p]}]),
        "int": lambda: sgd([1]),
        "string": lambda: sgd("abc"),
        "not iterable": lambda: sgd(3),
        "set": lambda: sgd([{"params": {p}}]),
        "no params": lambda: sgd([{}]),
        "not a dict": lambda: sgd([{"params": [p]}, 3]),
        "some names": lambda: sgd([("a", p), q]),
        "group without names": lambda: sgd([{"params": [("a", p)]}, {"params": [q]}]),
        "group with names": lambda: sgd([{"params": [q]}, {"params": [("a", p)]}]),
        "lr": lambda: sgd([p], lr=-1),
        "nesterov": lambda: sgd([p], nesterov=True),
        "momentum": lambda: sgd([p], momentum=-1),
        "weight decay": lambda: sgd([p], weight_decay=-0.5),
        "fused and foreach": lambda: sgd([p], fused=True, foreach=True),
        "fused and differentiable": lambda: adam([p], fused=True, differentiable=True),
        "lr of two": lambda: sgd([p], lr=tensor([0.1, 0.2])),
        "tensor lr, foreach": lambda: adam([p], lr=tensor(0.1), foreach=True),
        "tensor betas, foreach": lambda: adam([p], betas=(tensor(0.9), tensor(0.9)), foreach=True),
        "mixed betas": lambda: adam([p], betas=(0.9, tensor(0.9))),
        "betas": lambda: adam([p], betas=(1.0, 0.9)),
        "eps": lambda: adam([p], eps=-1),
        "capturable": lambda: adam([p], capturable=True).step(),
        "capturable nadam": lambda: library.NAdam([p], capturable=True).step(),
        "alpha": lambda: library.RMSprop([p], alpha=-1),
        "accumulator": lambda: library.Adagrad([p], initial_accumulator_value=-1),
        "rho": lambda: library.Adadelta([p], rho=2),
        "etas": lambda: library.Rprop([p], etas=(2, 1)),
        "momentum decay": lambda: library.NAdam([p], momentum_decay=-1),
        "lbfgs groups": lambda: library.LBFGS([{"params": [p]}, {"params": [q]}]),
        "line search": lambda: library.LBFGS([p], line_search_fn="x").step(lambda: (p * p).sum()),
        "muon": lambda: library.Muon([p]),
        "adafactor": lambda: library.Adafactor([p], d=0.5),
        "sparse": lambda: library.SparseAdam([p]).step(),
        "no step": lambda: library.Optimizer([p], {}).step(),
        "differentiable leaf": lambda: sgd([p], differentiable=True).step(),
        "more groups": lambda: sgd([p]).load_state_dict(sgd([{"params": [p]}, {"params": [q]}]).state_dict()),
        "more parameters": lambda: sgd([p]).load_state_dict(sgd([p, q]).state_dict()),
        "group is no dict": lambda: sgd([p]).add_param_group([q]),
    }
    found = {}
    for name, call in calls.items():
        with pytest.raises(Exception) as error:
            call()
        found[name] = (error.type, str(error.value).split("\n")[0])
    return found


def test_errors():
    mine, real = errors(rl, optim), errors(torch, torch.optim)
    assert mine == real


def test_a_duplicate_parameter_warns():
    for module, library in ((rl, optim), (torch, torch.optim)):
        (p,) = parameters(module, arrays([(2,)]))
        with pytest.warns(UserWarning, match="optimizer contains a parameter group with duplicate parameters"):
            library.SGD([p, p])


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "Adadelta", "RMSprop", "ASGD", "Rprop",
                                  "SparseAdam", "Adafactor"])  # fmt: skip
def test_settings_that_are_no_numbers(name):
    """NaN and tuples show in which order a setting is compared, complex parameters which are refused."""
    nan, told = float("nan"), []
    settings = [("lr", nan), ("eps", nan), ("eps", (nan, 1)), ("betas", (nan, 0.9)), ("betas", (0.9, nan)), ("weight_decay", nan),
                ("momentum", nan), ("dampening", nan), ("rho", nan), ("alpha", nan), ("lr_decay", nan), ("d", nan), ("etas", (nan, 2))]  # fmt: skip
    for library in (rl, torch):
        for kind in (library.float32, library.complex64):
            for setting, value in (("lr", 0.1), *settings):
                try:
                    getattr(library.optim, name)([library.ones(2, dtype=kind, requires_grad=True)], **{setting: value})
                    told.append("taken")
                except (TypeError, ValueError) as error:
                    told.append((type(error).__name__, str(error).splitlines()[0]))
    half = len(told) // 2
    assert told[:half] == told[half:]
