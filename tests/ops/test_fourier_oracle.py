"""Large Fourier transforms, which kernels compute, against PyTorch: values, layouts, gradients, short-time transforms."""

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

REAL_ONLY = {"rfft", "ihfft", "rfft2", "ihfft2", "rfftn", "ihfftn"}
NAMES = [name + suffix for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft") for suffix in ("", "2", "n")]
BOUNDS = {"float32": 5e-6, "complex64": 5e-6, "float64": 1e-13, "complex128": 1e-13}


def numbers(kind, *shape, seed=0):
    random = np.random.default_rng(seed)
    found = random.standard_normal(shape)
    return (found + 1j * random.standard_normal(shape) if kind.startswith("complex") else found).astype(kind)


def check(found, expected, kind):
    assert tuple(found.stride()) == expected.stride()
    assert found.is_conj() == expected.is_conj()
    expected = expected.detach().resolve_conj().numpy()
    found = found.detach().resolve_conj().numpy()
    assert found.dtype == expected.dtype and found.shape == expected.shape
    assert np.abs(found - expected).max() <= BOUNDS[kind] * np.abs(expected).max()


def kinds_of(name):
    return ["float32", "float64"] if name in REAL_ONLY else list(BOUNDS)


LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.transpose(0, 2),
    "channels last": lambda x: x.permute(0, 2, 1).contiguous().permute(0, 2, 1),
    "stepped": lambda x: x[:, ::2, 1::3],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name in NAMES for kind in kinds_of(name)])
def test_layouts(name, kind, layout):
    array = numbers(kind, 6, 30, 64)
    dims = (0, 1, 2) if name.endswith("fft") else ((0, 1), (2, 0), (1, 2), (1,))
    for dim in dims:
        for norm in (None, "ortho"):
            found, expected = (
                getattr(m.fft, name)(LAYOUTS[layout](m.tensor(array)), dim=dim, norm=norm) for m in (rl, torch)
            )
            check(found, expected, kind)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize("length", [2, 3, 17, 100, 225, 1009, 1024, 3000, 20000])
def test_lengths(name, length):
    for kind in kinds_of(name):
        for array in (numbers(kind, 1500), numbers(kind, 7, 600)):
            found, expected = (getattr(m.fft, name)(m.tensor(array), n=length, norm="forward") for m in (rl, torch))
            check(found, expected, kind)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_of_two_orders(name):
    kind = "float64" if name in REAL_ONLY else "complex128"
    array = numbers(kind, 24, 100)
    results = []
    for m in (rl, torch):
        x = m.tensor(array, requires_grad=True)
        found = getattr(m.fft, name)(x, norm="ortho")
        weights = m.tensor(np.linspace(-1, 1, found.numel()).reshape(found.shape))
        total = (found.abs() ** 3 * weights).sum()
        (first,) = m.autograd.grad(total, x, create_graph=True)
        (second,) = m.autograd.grad((first.abs() ** 2).sum(), x)
        results.append((first, second))
    for found, expected in zip(*results):
        expected = expected.detach().resolve_conj().numpy()
        assert np.abs(found.detach().resolve_conj().numpy() - expected).max() <= 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("size", [64, 100, 257])
def test_short_time_transforms_and_back(kind, size):
    array, options = numbers(kind, 3, 5000), {"hop_length": size // 4}
    both = []
    for m in (rl, torch):
        signal, window = m.tensor(array, requires_grad=True), m.hann_window(size, dtype=getattr(m, kind))
        spectra = m.stft(signal, size, window=window, return_complex=True, **options)
        back = m.istft(spectra * 2, size, window=window, length=4000, **options)
        (spectra.abs().sum() + (back**2).sum()).backward()
        both.append((spectra, back, signal.grad))
    for found, expected in zip(*both):
        found, expected = (x.detach().numpy() for x in (found, expected))
        assert found.dtype == expected.dtype and found.shape == expected.shape
        assert np.abs(found - expected).max() <= 10 * BOUNDS[kind] * np.abs(expected).max()
    assert tuple(both[0][0].stride()) == both[1][0].stride()


def test_batched_over_and_forward_mode():
    array = numbers("complex128", 5, 8, 64)
    x = rl.tensor(array)
    found = rl.func.vmap(lambda each: rl.fft.fft2(each), in_dims=1)(x)
    np.testing.assert_allclose(found.numpy(), np.fft.fft2(array.transpose(1, 0, 2)), atol=1e-11)
    _, slope = rl.func.jvp(rl.fft.ifft, (x,), (x * 2,))
    np.testing.assert_allclose(slope.numpy(), 2 * np.fft.ifft(array), atol=1e-14)
