"""Gradients of powers where dtypes differ, a base is 0 or a gradient infinite, and of `polar` where its size is no size."""

import pytest

import rushlight

torch = pytest.importorskip("torch")


def same(found):
    for one, other in zip(found(rushlight), found(torch), strict=True):
        torch.testing.assert_close(torch.tensor(one), torch.tensor(other), equal_nan=True, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kinds", [("float16", "float64"), ("bfloat16", "float64"), ("float16", "bfloat16"), ("float32", "float64"),
                                   ("float64", "float16"), ("float16", "complex64"), ("int64", "float64")])  # fmt: skip
def test_logarithms_are_taken_in_the_common_dtype(kinds):
    def found(module):
        base = module.tensor([2, 3, 7, 0], dtype=getattr(module, kinds[0]))
        exponent = module.tensor([1.3, 2.5, 3.25, 0.5], dtype=getattr(module, kinds[1]), requires_grad=True)
        power = base**exponent
        gradient = module.autograd.grad((power.real if power.is_complex() else power).sum(), exponent)[0]
        return [gradient.tolist()]

    same(found)


@pytest.mark.parametrize("base", [0, 0.0, -1, 2])
def test_infinite_gradients_of_powers_of_numbers(base):
    def found(module):
        exponent = module.tensor([-1.5, 0.0, 2.0, 0.5], dtype=module.float64, requires_grad=True)
        flowing = module.tensor([float("inf"), float("inf"), -float("inf"), 1.0], dtype=module.float64)
        return [module.autograd.grad(base**exponent, exponent, flowing)[0].tolist()]

    same(found)


def test_polar_with_negative_and_no_size():
    def found(module):
        size = module.tensor([2.0, -2.0, 0.0], requires_grad=True)
        angle = module.tensor([0.3, 0.5, 0.7], requires_grad=True)
        result = module.polar(size, angle)
        end = (result * (1 + 2j)).real.sum() + result.imag.sum() * 0.3
        return [each.tolist() for each in module.autograd.grad(end, [size, angle])]

    same(found)
