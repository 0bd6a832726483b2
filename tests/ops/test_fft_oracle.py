"""Fourier transforms and windows against PyTorch: values, gradients of two orders, refusals."""

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
MANY = [name + suffix for name in ONE for suffix in ("2", "n")]
REAL_ONLY = {"rfft", "ihfft", "rfft2", "ihfft2", "rfftn", "ihfftn"}


def values(kind, *shape):
    draw = np.random.default_rng(0)
    found = draw.standard_normal(shape)
    return (found + 1j * draw.standard_normal(shape) if kind.startswith("complex") else found).astype(kind)


def check(call, array, orders=2):
    found = []
    for m in (torch, rl):
        x = m.tensor(array, requires_grad=True)
        result = call(m, x)
        parts = [result]
        if orders:
            total = (result.abs() ** 3).sum() + (result * 0.7).sin().real.sum()
            (first,) = m.autograd.grad(total, x, create_graph=True)
            (second,) = m.autograd.grad((first.abs() ** 2).sum(), x)
            parts += [first, second]
        found.append([p.detach().resolve_conj().numpy() for p in parts])
    for expected, own in zip(*found):
        assert expected.dtype == own.dtype and expected.shape == own.shape
        tolerance = 1e-4 if expected.dtype in (np.float32, np.complex64) else 1e-9
        np.testing.assert_allclose(
            own, expected, rtol=tolerance, atol=tolerance * max(1, np.abs(expected).max(initial=0))
        )


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("kind", ["float64", "complex128", "float32"])
@pytest.mark.parametrize("options", [{}, {"n": 3}, {"n": 8, "dim": 0}, {"norm": "ortho"}, {"norm": "forward", "n": 5}])
def test_one_dimension(name, kind, options):
    if kind.startswith("complex") and name in REAL_ONLY:
        pytest.skip("takes real numbers")
    check(lambda m, x: getattr(m.fft, name)(x, **options), values(kind, 4, 5), 0 if kind == "float32" else 2)


@pytest.mark.parametrize("name", MANY)
@pytest.mark.parametrize("kind", ["float64", "complex128"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"s": (3, 6)},
        {"s": (-1, 5), "dim": (2, 0)},
        {"norm": "ortho", "dim": (0, 2)},
        {"norm": "forward", "dim": (1,)},
    ],
)
def test_more_dimensions(name, kind, options):
    if kind.startswith("complex") and name in REAL_ONLY:
        pytest.skip("takes real numbers")
    check(lambda m, x: getattr(m.fft, name)(x, **options), values(kind, 3, 4, 5))


@pytest.mark.parametrize("kind", ["int64", "bool", "uint8"])
def test_whole_numbers(kind):
    for name in ONE:
        expected, own = (
            getattr(m.fft, name)(m.tensor([[1, 0, 1], [1, 1, 0]]).to(getattr(m, kind))) for m in (torch, rl)
        )
        assert str(expected.dtype) == str(own.dtype)
        np.testing.assert_allclose(own.resolve_conj().numpy(), expected.resolve_conj().numpy(), atol=1e-6)


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
@pytest.mark.parametrize("dim", [None, 0, (0, 1), -1])
def test_shifts(dim, name):
    check(lambda m, x: getattr(m.fft, name)(x, dim) * 1.0, values("float64", 4, 5))


@pytest.mark.parametrize("n", [0, 1, 4, 5])
def test_frequencies(n):
    for name in ("fftfreq", "rfftfreq"):
        expected, own = (getattr(m.fft, name)(n, 0.5, dtype=m.float64) for m in (torch, rl))
        np.testing.assert_allclose(own.resolve_conj().numpy(), expected.numpy())


def first_line(call, *args):
    with pytest.raises(Exception) as caught:
        call(*args)
    return caught.type.__name__, str(caught.value).split("\n")[0]


@pytest.mark.parametrize("name", ONE + MANY)
def test_refusals(name):
    calls = [
        lambda m, f: f(m.zeros(4, 6).half()),
        lambda m, f: f(m.tensor(1.0)),
        lambda m, f: f(m.zeros(4, 6), norm="foo"),
        lambda m, f: f(m.zeros(3, 0)),
        lambda m, f: f(m.zeros(4, 6), 0 if name in ONE else (0, 3)),
        lambda m, f: f(m.zeros(4, 6), dim=3 if name in ONE else (3,)),
    ]
    if name in MANY:
        calls += [lambda m, f: f(m.zeros(4, 6), dim=(0, 0)), lambda m, f: f(m.zeros(4, 6), s=(3,), dim=(0, 1))]
        calls += [lambda m, f: f(m.zeros(4, 6), s=(3, 3, 3))]
    if name in REAL_ONLY:
        calls.append(lambda m, f: f(m.zeros(4, 6, dtype=m.complex64)))
    if name in ("fftn", "ifftn"):
        del calls[1]  # a number is its own transform over no dimensions
    for call in calls:
        assert first_line(call, rl, getattr(rl.fft, name)) == first_line(call, torch, getattr(torch.fft, name))


@pytest.mark.parametrize("length", [0, 1, 2, 5, 8])
@pytest.mark.parametrize("periodic", [True, False])
def test_windows(length, periodic):
    for name in ("bartlett", "blackman", "hamming", "hann", "kaiser"):
        expected, own = (getattr(m, name + "_window")(length, periodic) for m in (torch, rl))
        np.testing.assert_allclose(own.resolve_conj().numpy(), expected.numpy(), atol=2e-6)
    makers = {
        "bartlett": {}, "blackman": {}, "cosine": {}, "exponential": {"tau": 2.0}, "gaussian": {"std": 1.5},
        "general_cosine": {"a": [0.4, 0.3, 0.2]},
        "general_hamming": {"alpha": 0.6}, "hamming": {}, "hann": {}, "kaiser": {"beta": 3.0}, "nuttall": {},
    }  # fmt: skip
    for name, options in makers.items():
        expected, own = (getattr(m.signal.windows, name)(length, sym=not periodic, **options) for m in (torch, rl))
        np.testing.assert_allclose(own.resolve_conj().numpy(), expected.numpy(), atol=2e-6, err_msg=name)


@pytest.mark.parametrize(
    "options",
    [
        {"return_complex": True},
        {"return_complex": True, "hop_length": 3, "win_length": 10},
        {"return_complex": True, "center": False, "normalized": True},
        {"return_complex": True, "onesided": False},
        {"return_complex": True, "pad_mode": "constant"},
    ],
)
def test_short_time_transforms(options):
    def call(m, x):
        window = m.hann_window(options.get("win_length", 12), dtype=m.float64) + 0.1
        spectra = m.stft(x, 12, window=window, **options)
        back = {
            k: v for k, v in options.items() if k in ("hop_length", "win_length", "normalized", "onesided", "center")
        }
        return m.istft(spectra * spectra.abs(), 12, window=window, **back)

    check(call, values("float64", 2, 40))


def test_refused_short_time_transforms():
    calls = [
        lambda m: m.stft(m.zeros(2, 100), 16, window=m.ones(16)),
        lambda m: m.stft(m.zeros(2, 100), 16, window=m.ones(10), return_complex=True),
        lambda m: m.stft(m.zeros(2, 100), 1000, center=False, window=m.ones(1000), return_complex=True),
        lambda m: m.stft(m.zeros(2, 100), 16, hop_length=0, window=m.ones(16), return_complex=True),
        lambda m: m.istft(m.zeros(2, 9, 26), 16, window=m.ones(16)),
        lambda m: m.istft(m.zeros(2, 9, 26, dtype=m.complex64), 20, window=m.ones(16)),
        lambda m: m.istft(m.zeros(2, 9, 26, dtype=m.complex64), 16, window=m.zeros(16)),
    ]
    for call in calls:
        assert first_line(call, rl) == first_line(call, torch)


WINDOW_DTYPES = ("float16", "bfloat16", "float32", "complex64", "int64", "bool", None)


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental", "ignore:A window was not provided")
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "complex64", "int64"])
@pytest.mark.parametrize("window_dtype", WINDOW_DTYPES)
def test_windows_of_another_dtype(dtype, window_dtype):
    numbers, spectra = values("float64", 2, 40), values("complex128", 2, 5, 9)

    def window(m):
        return None if window_dtype is None else m.linspace(1.1, 3.1, 8).to(getattr(m, window_dtype))

    calls = [lambda m: m.stft(m.tensor(numbers).to(getattr(m, dtype)), 8, window=window(m), return_complex=True)]
    if dtype == "complex64":
        calls.append(lambda m: m.istft(m.tensor(spectra).to(m.complex64), 8, window=window(m)))
        calls.append(lambda m: m.istft(m.tensor(spectra).to(m.complex64), 16, window=window(m)))
    for call in calls:
        try:
            wanted = call(torch)
        except RuntimeError as error:
            with pytest.raises(RuntimeError) as raised:
                call(rl)
            assert str(raised.value).splitlines()[0] == str(error).splitlines()[0]
            continue
        found = call(rl)
        assert str(found.dtype) == str(wanted.dtype)
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), 1e-5, 1e-4)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize("length", [20, 3000])
def test_overlapping_windows_add_up_in_the_same_order(dtype, length):
    for size, step in ((5, 2), (8, 1), (3, 3), (7, 3)):
        incoming = values("float64", (length - size) // step + 1, size)
        found = []
        for m in (rl, torch):
            x = m.zeros(length, dtype=getattr(m, dtype), requires_grad=True)
            x.unfold(0, size, step).backward(m.tensor(incoming).to(x.dtype))
            found.append(x.grad.double().numpy())
        assert np.array_equal(*found), (size, step)
