"""Linear algebra, contractions, transforms and windows with numbers known beforehand: no PyTorch needed."""

import pytest

import rushlight as rl


def test_contractions():
    a, b = rl.arange(6.0).view(2, 3), rl.ones(3, 2)
    assert rl.einsum("ij,jk->ik", a, b).tolist() == [[3.0, 3.0], [12.0, 12.0]]
    assert rl.einsum("ii->i", rl.arange(4).view(2, 2)).tolist() == [0, 3]
    assert rl.tensordot(a, a, 2).item() == 55
    assert rl.inner(a, a).tolist() == [[5.0, 14.0], [14.0, 50.0]]
    assert rl.kron(rl.eye(2), rl.ones(1, 2)).tolist() == [[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]


def test_systems():
    a = rl.tensor([[2.0, 0.0], [0.0, 4.0]])
    assert rl.linalg.inv(a).tolist() == [[0.5, 0.0], [0.0, 0.25]]
    assert rl.linalg.solve(a, rl.tensor([2.0, 2.0])).tolist() == [1.0, 0.5]
    assert rl.linalg.det(a).item() == pytest.approx(8)
    assert rl.linalg.cholesky(a * a).tolist() == a.tolist()
    assert rl.linalg.eigvalsh(a).tolist() == [2.0, 4.0]


def test_gradients_are_right():
    draw = rl.Generator().manual_seed(0)
    a = rl.randn(3, 3, dtype=rl.float64, generator=draw).requires_grad_()
    for function in (rl.linalg.inv, rl.linalg.det, rl.linalg.matrix_exp, rl.linalg.svdvals, rl.linalg.pinv):
        assert rl.autograd.gradcheck(function, (a,)) and rl.autograd.gradgradcheck(function, (a,))


@pytest.mark.parametrize("call", [rl.linalg.inv, rl.linalg.cholesky])
def test_failures_have_a_class_and_a_hint(call):
    with pytest.raises(rl.linalg.LinAlgError, match="hint:"):
        call(rl.zeros(2, 2))


def test_transforms():
    signal = rl.tensor([1.0, 2.0, 3.0, 4.0])
    assert rl.fft.fft(signal).tolist() == [10, -2 + 2j, -2, -2 - 2j]
    assert rl.fft.irfft(rl.fft.rfft(signal)).tolist() == signal.tolist()
    assert rl.fft.fftfreq(4).tolist() == [0.0, 0.25, -0.5, -0.25]
    assert rl.fft.fft(signal).dtype is rl.complex64


def test_windows():
    assert rl.hann_window(4).tolist() == [0.0, 0.5, 1.0, 0.5]
    assert rl.signal.windows.bartlett(5).tolist() == [0.0, 0.5, 1.0, 0.5, 0.0]
