"""Fourier transforms by kernels, against NumPy in double precision: lengths, layouts, threads, accuracy, the interpreter."""

import numpy as np
import pytest

import rushlight as rl
from rushlight.kernels.compiler.kernel import compiled
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine.host import host

pytestmark = pytest.mark.skipif(host() is None, reason="no generated kernels here")
if host() is not None:
    from rushlight.kernels.fourier import plans as fourier_plans
    from rushlight.kernels.fourier import rows as fourier_rows
    from rushlight.kernels.fourier import transforms as fourier
    from rushlight.kernels.fourier.programs import ROWS, fourier_blocks

REALS = {"c8": np.float32, "c16": np.float64}
BOUNDS = {"c8": 4e-7, "c16": 3e-15}  # of the largest number
LENGTHS = [2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 30, 31, 64, 77, 105, 127, 128, 240, 437, 512, 1000, 1009, 1536, 4096, 5040]


def numbers(shape, dtype, seed=0):
    random = np.random.default_rng(seed)
    found = random.standard_normal(shape)
    return (found + 1j * random.standard_normal(shape) if np.dtype(dtype).kind == "c" else found).astype(dtype)


def check(found, expected, dtype):
    """Compare with what was computed in double precision from the same numbers."""
    assert found is not NotImplemented
    assert found.dtype == (dtype if expected.dtype.kind == "c" else REALS[dtype]) and found.shape == expected.shape
    assert np.abs(found - expected).max() <= BOUNDS[dtype] * np.abs(expected).max()


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("count", [1, 3, 40])
@pytest.mark.parametrize("length", LENGTHS)
def test_lengths(length, count, dtype):
    x = numbers((count, length), dtype)
    for forward in (True, False):
        transform = np.fft.fft if forward else np.fft.ifft
        check(fourier.fft_c2c(x, (1,), "ortho", forward), transform(x.astype("c16"), norm="ortho"), dtype)
    real = x.real.copy()
    check(fourier.fft_r2c(real, (1,), "backward", True), np.fft.rfft(real.astype("f8")), dtype)
    check(fourier.fft_r2c(real, (1,), "forward", False), np.fft.fft(real.astype("f8"), norm="forward"), dtype)
    half = x[:, : length // 2 + 1].copy()
    check(fourier.fft_c2r(half, (1,), "backward", length), np.fft.irfft(half.astype("c16"), length), dtype)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("length", [1 << 13, 1 << 17, 44100, 65537])
def test_long_rows(length, dtype):
    x = numbers((2, length), dtype)
    check(fourier.fft_c2c(x, (1,), "backward", True), np.fft.fft(x.astype("c16")), dtype)
    real = x.real.copy()
    spectra = fourier.fft_r2c(real, (1,), "backward", True)
    check(spectra, np.fft.rfft(real.astype("f8")), dtype)
    check(fourier.fft_c2r(spectra, (1,), "backward", length), np.fft.irfft(spectra.astype("c16"), length), dtype)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (2, 0), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("shape", [(6, 20, 33), (17, 3, 31), (32, 2, 2), (4, 131, 5), (5, 300, 64)])
def test_axes(shape, axes, dtype):
    x = numbers(shape, dtype)
    for given in (x, x.transpose(1, 0, 2), x.transpose(2, 1, 0), numbers((2 * shape[0], *shape[1:]), dtype)[::2]):
        wide, real = given.astype("c16"), given.real
        check(fourier.fft_c2c(given, axes, "forward", True), np.fft.fftn(wide, axes=axes, norm="forward"), dtype)
        check(fourier.fft_c2c(given, axes, "backward", False), np.fft.ifftn(wide, axes=axes), dtype)
        check(
            fourier.fft_r2c(real, axes, "ortho", True), np.fft.rfftn(real.astype("f8"), axes=axes, norm="ortho"), dtype
        )
        length = 2 * given.shape[axes[-1]] - 1
        lengths = [*(given.shape[d] for d in axes[:-1]), length]
        check(fourier.fft_c2r(given, axes, "backward", length), np.fft.irfftn(wide, lengths, axes=axes), dtype)


@pytest.mark.parametrize("length", [8, 100, 512, 1009])
def test_rows_are_apart(length):
    x = numbers((40, length), "c8")
    plain = fourier.fft_c2c(x, (1,), "backward", True)
    x[7, 3], x[20, 0] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        found = fourier.fft_c2c(x, (1,), "backward", True)
    others = np.delete(np.arange(40), [7, 20])
    assert (found[others] == plain[others]).all()
    assert np.isnan(found[7]).all() and not np.isfinite(found[20]).any()


def test_the_first_and_the_middle_number_of_a_spectrum_count_as_real():
    for length in (64, 65, 2048, 4099 * 2):
        x = numbers((3, length // 2 + 1), "c16")
        found = fourier.fft_c2r(x, (1,), "backward", length)
        x[:, 0] = x[:, 0].real
        if length % 2 == 0:
            x[:, -1] = x[:, -1].real
        check(found, np.fft.irfft(x, length), "c16")


@pytest.mark.parametrize("shape", [(40000,), (300, 96), (64, 1024)])
def test_threads_change_nothing(shape):
    x = numbers(shape, "c8")
    before, found = rl.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            rl.set_num_threads(threads)
            real = fourier.fft_r2c(x.real.copy(), (len(shape) - 1,), "backward", True)
            found.append((fourier.fft_c2c(x, tuple(range(len(shape))), "backward", True), real))
    finally:
        rl.set_num_threads(before)
    for each in found[1:]:
        assert all((a == b).all() for a, b in zip(each, found[0]))


def test_what_numpy_computes():
    assert fourier.fft_c2c(numbers((4, 1), "c8"), (1,), "backward", True) is NotImplemented
    assert fourier.fft_c2c(numbers((0, 4), "c8"), (1,), "backward", True) is NotImplemented
    assert fourier.fft_c2c(numbers((4, 4), "c8"), (), "backward", True) is NotImplemented
    assert fourier.fft_r2c(numbers((4, 1), "f4"), (1,), "backward", True) is NotImplemented
    assert fourier.fft_c2r(numbers((4, 1), "c8"), (1,), "backward", 1) is NotImplemented
    assert fourier.fft_c2r(numbers((4, 5), "c8"), (1,), "backward", 10) is NotImplemented


def test_tables_are_forgotten_when_they_are_many(monkeypatch):
    monkeypatch.setattr(fourier_plans, "_MOST_BYTES", 3000)
    monkeypatch.setattr(fourier_plans, "tables", fourier_plans.Tables())
    for module in (fourier, fourier_rows):
        monkeypatch.setattr(module, "tables", fourier_plans.tables)
    for length in (64, 100, 128, 1009, 64):
        x = numbers((2, length), "c16")
        check(fourier.fft_c2c(x, (1,), "backward", True), np.fft.fft(x), "c16")
    assert fourier_plans.tables.bytes < 1 << 16


def test_roots_are_exact():
    found = fourier_plans.roots(np.arange(-8, 24), 8)
    half = np.sqrt(0.5)
    expected = [1, half - half * 1j, -1j, -half - half * 1j, -1, -half + half * 1j, 1j, half + half * 1j] * 4
    np.testing.assert_allclose(found, expected, rtol=2e-16, atol=0)
    assert np.abs(np.abs(fourier_plans.roots(np.arange(1 << 16), 65537)) - 1).max() < 3e-16


def test_comfortable_lengths():
    for least in (2, 3, 7, 11, 14, 2017, 20013):
        found = fourier_plans.comfortable_length(least)
        rest = found
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        assert rest == 1 and least <= found <= 1.15 * least


def parts(argument):
    """Complex numbers as real ones."""
    if not isinstance(argument, np.ndarray) or argument.dtype.kind != "c":
        return argument
    return argument.reshape(-1).view(REALS[argument.dtype.str[1:]])


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize(
    ("shape", "axes", "length"),
    [
        ((5, 6), (1,), 10),
        ((1, 36), (1,), 70),
        ((3, 48), (1,), 94),
        ((2, 7, 6), (1,), 12),
        ((2, 17), (1,), 32),
        ((3, 131), (1,), 131),
        ((2, 12, 5), (1, 2), 8),
    ],
)
def test_the_interpreter_agrees_and_stays_within_bounds(monkeypatch, interpreted, shape, axes, length, dtype):
    interpreted()
    monkeypatch.setattr(fourier_rows, "lanes_for", lambda scalar: 4)
    monkeypatch.setattr(fourier_rows, "_SHARED_FROM", 36)
    monkeypatch.setattr(fourier_plans, "tables", fourier_plans.Tables())
    for module in (fourier, fourier_rows):
        monkeypatch.setattr(module, "tables", fourier_plans.tables)
    x = numbers(shape, dtype)
    for forward, transform in ((True, np.fft.fftn), (False, np.fft.ifftn)):
        check(fourier.fft_c2c(x, axes, "backward", forward), transform(x.astype("c16"), axes=axes), dtype)
    real = x.real.copy()
    check(fourier.fft_r2c(real, axes, "backward", True), np.fft.rfftn(real.astype("f8"), axes=axes), dtype)
    lengths = [*(shape[d] for d in axes[:-1]), length]
    check(fourier.fft_c2r(x, axes, "backward", length), np.fft.irfftn(x.astype("c16"), lengths, axes=axes), dtype)


def test_machine_code_computes_what_the_interpreter_does():
    x, twiddles = numbers((5, 12), "c8"), fourier_plans.stages_of(12, "float32")
    found, expected = np.empty_like(x), np.empty_like(x)
    area = 4 * 4 * (12 + 4)
    sizes = (1, 5, 0, 24, 0, 0, 24, 0, 12, len(twiddles.table), 0, area, 1, 0.5)
    spaces = [np.zeros(2 * area, np.float32) for _ in range(2)]
    options = "f32", 4, (8, 4, 2, 3), ROWS, ROWS
    kernel = compiled(("test of fourier", *options), lambda: fourier_blocks(*options))
    kernel.alone(x, found, spaces[0], twiddles.table, twiddles.twiddles, *sizes)
    arrays = [parts(a) for a in (x, expected, spaces[1], twiddles.table, twiddles.twiddles)]
    interpret(fourier_blocks(*options), *arrays, *sizes)
    assert (found == expected).all()
