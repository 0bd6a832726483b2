"""Optimizer steps in one launch: every algorithm's formula against NumPy and the interpreter."""

import numpy as np
import pytest

import rushlight
from rushlight.kernels.compiler.lowering import lowered
from rushlight.kernels.elementwise import optimizer
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine.host import host
from rushlight.ops import optimize

ml_dtypes = pytest.importorskip("ml_dtypes")
BFLOAT16 = ml_dtypes.bfloat16

pytestmark = pytest.mark.skipif(host() is None, reason="needs llvmlite")

CASES = {
    "SGD": [{}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
            {"momentum": 0.5, "dampening": 0.1, "maximize": True}],
    "Adam": [{}, {"amsgrad": True}, {"weight_decay": 0.01, "maximize": True}],
    "AdamW": [{}, {"amsgrad": True, "maximize": True}],
    "Adamax": [{}, {"weight_decay": 0.01}],
    "NAdam": [{}, {"weight_decay": 0.01, "decoupled_weight_decay": True}],
    "RAdam": [{}, {"weight_decay": 0.01}],
    "Adagrad": [{}, {"lr_decay": 0.1, "weight_decay": 0.01}],
    "Adadelta": [{}, {"maximize": True}],
    "RMSprop": [{}, {"momentum": 0.9, "centered": True}, {"weight_decay": 0.01}],
    "Rprop": [{}],
    "ASGD": [{}, {"weight_decay": 0.01}],
}  # fmt: skip
SHAPES = [(3,), (), (70, 33), (0, 4), (17,), (64, 300)]
EACH = [(name, options) for name, cases in CASES.items() for options in cases]


class Setting:
    """Parameters with gradients, and the state of an optimizer before its first step."""

    def __init__(self, name, options, dtype, shapes=SHAPES):
        self.random = np.random.default_rng(1)
        self.params = [self.random.standard_normal(shape).astype(dtype) for shape in map(list, shapes)]
        self.params = [np.array(param) for param in self.params]
        tensors = [rushlight.from_numpy(param.copy()).requires_grad_() for param in self.params]
        self.optimizer = getattr(rushlight.optim, name)(tensors, **options)
        self.group = self.optimizer.with_numbers(self.optimizer.param_groups[0])
        self.draw()
        names = self.optimizer.state_names(self.group)
        self.states = []
        for tensor, grad in zip(tensors, self.grads):
            state = self.optimizer.init_single(tensor.detach(), rushlight.from_numpy(grad), self.group)
            self.states += [state[each]._array.copy() for each in names]
            self.numbers = tuple(state[each].item() for each in self.optimizer.scalar_names)
        self.count = len(names)

    @property
    def constants(self):
        return self.optimizer.constants(self.group, *self.numbers)

    def draw(self):
        self.grads = [np.array(self.random.standard_normal(p.shape).astype(p.dtype)) for p in self.params]

    def arrays(self, i):
        return [self.params[i], self.grads[i], *self.states[i * self.count : (i + 1) * self.count]]

    def advance(self):
        self.draw()
        if self.numbers:
            self.numbers = tuple(map(float, self.optimizer.advance_scalars(self.group, *self.numbers)))


@pytest.mark.parametrize(("name", "options"), EACH)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, BFLOAT16])
def test_steps_agree_with_numpy(name, options, dtype):
    kernel, plain = Setting(name, options, dtype), Setting(name, options, dtype)
    formula, epsilon = kernel.optimizer.formula, float(ml_dtypes.finfo(dtype).eps)
    for _ in range(8):
        assert optimizer.run(formula, kernel.constants, kernel.params, kernel.grads, kernel.states)
        for i in range(len(SHAPES)):
            optimize._update(formula, plain.constants, plain.arrays(i))
        for got, expected in zip(kernel.params + kernel.states, plain.params + plain.states, strict=True):
            got, expected = got.astype(float), expected.astype(float)
            np.testing.assert_allclose(got, expected, rtol=8 * epsilon, atol=8 * epsilon)
        kernel.advance()
        plain.advance()


@pytest.mark.parametrize(("name", "options"), EACH)
def test_program_agrees_with_interpreter(name, options):
    setting = Setting(name, options, np.float32, [(3,), (40,)])
    formula, constants, count = setting.optimizer.formula, setting.constants, setting.count
    *_, numbers = optimizer.launch_of(formula, constants, count, setting.params)
    copies = [[array.copy() for array in arrays] for arrays in (setting.params, setting.states)]
    optimizer.run(formula, constants, setting.params, setting.grads, setting.states)
    table, chunks, _ = optimizer._chunk_table((3, 40))
    for lanes in (4, 8, 16):
        program = optimizer.program("step", formula, constants, count, "f32", lanes)
        params, states = ([array.copy() for array in arrays] for arrays in copies)
        lists = [params, setting.grads, *[states[i::count] for i in range(count)]]
        interpret(lowered(program), *lists, table, chunks, *numbers)
        for got, expected in zip(params + states, setting.params + setting.states, strict=True):
            np.testing.assert_array_equal(got, expected)


def test_new_numbers_compile_nothing():
    setting = Setting("AdamW", {}, np.float32)
    known = []
    for lr in (0.1, 0.01, 0.001):
        setting.group["lr"] = lr
        optimizer.run(setting.optimizer.formula, setting.constants, setting.params, setting.grads, setting.states)
        known.append(len(optimizer._launches))
        setting.advance()
    assert known[0] == known[-1]


def test_threads_change_nothing():
    found, before = [], rushlight.get_num_threads()
    for threads in (1, 2):
        rushlight.set_num_threads(threads)
        setting = Setting("Adam", {}, np.float32, [(300, 500), (7,)])
        for _ in range(3):
            optimizer.run(setting.optimizer.formula, setting.constants, setting.params, setting.grads, setting.states)
            setting.advance()
        found.append(setting.params + setting.states)
    rushlight.set_num_threads(before)
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


def test_other_layouts_and_dtypes_are_left_alone():
    setting = Setting("SGD", {}, np.float32, [(4, 5)])
    formula, constants, kept = setting.optimizer.formula, setting.constants, setting.params[0].copy()
    turned = [np.asfortranarray(setting.params[0])]
    assert not optimizer.run(formula, constants, turned, setting.grads, [])
    assert not optimizer.run(formula, constants, setting.params, [setting.grads[0].astype(np.float64)], [])
    whole = [array.astype(np.int32) for array in (setting.params[0], setting.grads[0])]
    assert not optimizer.run(formula, constants, whole[:1], whole[1:], [])
    np.testing.assert_array_equal(setting.params[0], kept)


def test_whole_steps_agree_with_the_table():
    """The kernels of the op table's functions, counters included."""
    kernel, plain = (Setting("NAdam", {}, np.float32, [(30,), (4, 5)]) for _ in range(2))
    options = {"formula": kernel.optimizer.formula, "advance": kernel.optimizer.advance_scalars}
    options["constants"] = kernel.optimizer.constants
    counters = [[np.array(number, np.float32) for _ in range(2) for number in kernel.numbers] for _ in range(2)]
    for _ in range(3):
        for step, setting, scalars in zip(
            (optimizer.optimizer_step_, optimize.optimizer_step_), (kernel, plain), counters, strict=True
        ):
            found = step(setting.params, setting.grads, scalars, setting.states, group=setting.group, **options)
            assert found is None
            setting.draw()
    np.testing.assert_allclose(counters[0], counters[1], rtol=1e-6)
    for got, expected in zip(kernel.params + kernel.states, plain.params + plain.states, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)
    counters[0][0][()] += 1
    arguments = kernel.params, kernel.grads, counters[0], kernel.states
    assert optimizer.optimizer_step_(*arguments, group=kernel.group, **options) is NotImplemented


def test_plain_descent():
    setting = Setting("SGD", {}, np.float32)
    expected = [param - np.float32(0.1) * grad for param, grad in zip(setting.params, setting.grads, strict=True)]
    assert optimizer.add_scaled_(setting.params, setting.grads, scale=-0.1) is None
    for got, wanted in zip(setting.params, expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-7)
