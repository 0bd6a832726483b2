"""Short-time Fourier transforms: a signal as the spectra of overlapping windowed stretches, and back."""

import warnings

from ..base.errors import hinted
from ..base.notes import warn_once
from ..base.scalars import type_name
from ..base.user_code import to_user
from .table import composite, functions, is_half

_NO_WINDOW = (
    "A window was not provided. A rectangular window will be applied,which is known to cause spectral leakage. "
    "Other windows such as torch.hann_window or torch.hamming_window are recommended to reduce spectral leakage."
)
_NO_INVERSE_WINDOW = (
    "A window was not provided. A rectangular window will be applied."
    "Please provide the same window used by stft to make the inversion lossless."
)
_SUPPRESS = (
    "To suppress this warning and use a rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`."
)


def _call(name, input, n_fft, hop, win, window, **options):
    """How PyTorch names a refused call of these functions: the arguments after their defaults were filled in."""
    shown = "None" if window is None else f"{type_name(window.dtype)}{{{list(window.shape)}}}"
    rest = ", ".join(f"{key}={int(value) if isinstance(value, bool) else value}" for key, value in options.items())
    given = f"{type_name(input.dtype)}{list(input.shape)}, n_fft={n_fft}, hop_length={hop}, win_length={win}, window={shown}"
    return f"{name}({given}, {rest})"


def _full_window(window, win_length, n_fft, like):
    """The window (ones where None), with zeros around it up to ``n_fft`` values."""
    if window is None:
        window = functions.ones(win_length, dtype=like.real.dtype, device=like.device)
    if win_length < n_fft:
        left = (n_fft - win_length) // 2
        window = functions.pad(window, [left, n_fft - win_length - left])
    return window


@composite
def stft(
    input,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    pad_mode="reflect",
    normalized=False,
    onesided=None,
    return_complex=None,
    align_to_window=None,
):
    """The short-time Fourier transform: (L) or (B, L) gives (B, frequencies, frames), complex.

    Args:
        n_fft: length of each transform.
        hop_length: distance between the frames, n_fft // 4 by default.
        win_length: length of the window (default n_fft), which is centred in the frame.
        window: the weights of a frame; ones by default.
        center: pad the signal by n_fft // 2 on both sides (as ``pad_mode`` says), so that frame t is centred at t *
            hop_length.
        normalized: divide by the square root of n_fft.
        onesided: only n_fft // 2 + 1 frequencies; by default for real input and window.
        return_complex: False gives real pairs in a last dimension of length 2 (deprecated in PyTorch).

    >>> import rushlight as torch
    >>> torch.stft(torch.ones(16), 8, window=torch.hann_window(8), return_complex=True).shape
    torch.Size([5, 9])
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    win = n_fft if win_length is None else win_length
    if window is None:
        warn_once(_NO_WINDOW + _SUPPRESS)
    if center:
        if align_to_window is not None:
            raise RuntimeError("stft align_to_window should only be set when center = false")
        input = _padded(input, n_fft // 2, pad_mode)
    _check_forward(input, n_fft, hop, win, window, normalized, onesided, return_complex, align_to_window)
    complex_numbers = input.is_complex() or (window is not None and window.is_complex())
    _check_output_form(return_complex, complex_numbers)
    onesided = not complex_numbers if onesided is None else onesided
    if onesided and complex_numbers:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    norm = "ortho" if normalized else "backward"
    found = _frames_transformed(input, n_fft, hop, win, window, norm, onesided, align_to_window)
    return functions.view_as_real(found) if return_complex is False else found


def _padded(input, width, mode):
    """The signal with ``width`` samples more on both sides."""
    dims = max(0, 3 - input.ndim)  # `pad` reflects the last dimension of a batch of channels
    padded = functions.pad(input.reshape((1,) * dims + tuple(input.shape)), [width, width], mode)
    return padded.reshape(padded.shape[dims:])


def _check_output_form(return_complex, complex_numbers):
    """Ask for ``return_complex`` where the signal is real, and warn where it is False."""
    if return_complex is None and not complex_numbers:
        raise RuntimeError(
            hinted(
                "stft requires the return_complex parameter be given for real inputs, and will further require that "
                "return_complex=True in a future PyTorch release.",
                "pass return_complex=True",
            )
        )
    if return_complex is False:
        warnings.warn(
            "stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex "
            "tensors for all inputs, and return_complex=False will raise an error.",
            UserWarning,
            stacklevel=to_user(),
        )


def _check_forward(input, n_fft, hop, win, window, normalized, onesided, return_complex, align_to_window):
    call = _call(
        "stft", input, n_fft, hop, win, window,
        normalized=normalized, onesided=onesided, return_complex=return_complex, align_to_window=align_to_window,
    )  # fmt: skip
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(
            hinted(f"{call} : expected a tensor of floating point or complex values", "convert it with .float()")
        )
    if input.ndim not in (1, 2):
        raise RuntimeError(hinted(f"{call} : expected a 1D or 2D tensor", "fold the other dimensions into the batch"))
    length = input.shape[-1]
    if not 0 < n_fft <= length:
        raise RuntimeError(f"{call} : expected 0 < n_fft < {length}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"{call} : expected hop_length > 0, but got hop_length={hop}")
    if not 0 < win <= n_fft:
        raise RuntimeError(f"{call} : expected 0 < win_length <= n_fft, but got win_length={win}")
    if window is not None and (window.ndim != 1 or window.shape[0] != win):
        raise RuntimeError(
            f"{call} : expected a 1D window tensor of size equal to win_length={win}, but got window with size "
            f"{list(window.shape)}"
        )


def _frames_transformed(input, n_fft, hop, win, window, norm, onesided, align_to_window):
    size = n_fft
    if align_to_window:  # frames as long as the window, which zeros extend to n_fft
        size = win
    frames = input.unfold(-1, size, hop)
    if size < n_fft:
        left = (n_fft - win) // 2
        frames = functions.pad(frames, [left, n_fft - win - left])
    if window is not None or win < n_fft:
        frames = frames * _full_window(window, win, n_fft, input)
    if is_half(frames.dtype.numpy):
        raise RuntimeError(
            hinted(f"MKL FFT doesn't support tensors of type: {frames.dtype.legacy_name}", "convert it with .float()")
        )
    if onesided:
        found = functions.fft_r2c(frames, (frames.ndim - 1,), norm, True)
    else:
        found = functions.fft_c2c(frames, (frames.ndim - 1,), norm, True)
    return found.transpose(-1, -2)


@composite
def istft(
    input,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    normalized=False,
    onesided=None,
    length=None,
    return_complex=False,
):
    """The signal whose `stft` is given, found in least squares: (B, frequencies, frames) or without B gives (B, L)
    or (L).

    The arguments are those of the `stft`; ``length`` cuts the signal or fills it with zeros.

    >>> import rushlight as torch
    >>> window, signal = torch.hann_window(8), torch.arange(16.0)
    >>> spectra = torch.stft(signal, 8, window=window, return_complex=True)
    >>> torch.istft(spectra, 8, window=window)[1:4]
    tensor([1.0000, 2.0000, 3.0000])
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    win = n_fft if win_length is None else win_length
    if window is None:
        warn_once(_NO_INVERSE_WINDOW + _SUPPRESS)
    call = _call(
        "istft", input, n_fft, hop, win, window,
        center=center, normalized=normalized, onesided=onesided, length=length, return_complex=return_complex,
    )  # fmt: skip
    _check_inverse(call, input, n_fft, hop, win, window, onesided, return_complex)
    frames = _frames_of(input.transpose(-1, -2), n_fft, "ortho" if normalized else "backward", return_complex)
    signal, weights = _overlapped(frames, _full_window(window, win, n_fft, input), n_fft, hop)
    start = n_fft // 2 if center else 0
    total = signal.shape[-1]
    end = start + length if length is not None else total - n_fft // 2 if center else total
    signal, weights = signal[..., start:end], weights[start:end]
    least = float(weights.detach().abs().min()) if weights.numel() else 0.0
    if not least > 1e-11:
        raise RuntimeError(
            hinted(
                f"{call} window overlap add min: 1",
                f"some samples have no weight (least: {least}): overlap the windows more",
            )
        )
    found = signal / weights
    missing = end - start - found.shape[-1]
    if missing > 0:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the "
            "tail. Please check your center and hop_length settings.",
            UserWarning,
            stacklevel=to_user(),
        )
        found = functions.pad(found, [0, missing])
    return found


def _frames_of(spectra, n_fft, norm, complex_numbers):
    """The stretches of signal that have these spectra, in the last dimension."""
    last = (spectra.ndim - 1,)
    if complex_numbers:
        return functions.fft_c2c(spectra, last, norm, False)
    # The upper half of a whole spectrum is not looked at.
    return functions.fft_c2r(spectra[..., : n_fft // 2 + 1], last, norm, n_fft)


def _overlapped(frames, window, n_fft, hop):
    """Frames, windowed once more, added up where they overlap; and what the squares of the window come to there."""
    count = frames.shape[-2]
    total = n_fft + hop * (count - 1)
    signal = functions.unfold_gradient(frames * window, [*frames.shape[:-2], total], frames.ndim - 2, n_fft, hop)
    weights = functions.unfold_gradient((window**2).expand(count, n_fft), [total], 0, n_fft, hop)
    return signal, weights


def _check_inverse(call, input, n_fft, hop, win, window, onesided, return_complex):
    """Refuse what has no inverse."""
    if not input.is_complex():
        raise RuntimeError(
            hinted(
                "istft requires a complex-valued input tensor matching the output from stft with return_complex=True.",
                "torch.view_as_complex makes complex numbers of pairs",
            )
        )
    if input.numel() == 0:
        raise RuntimeError(f"{call} : input tensor cannot be empty.")
    if input.ndim not in (2, 3):
        raise RuntimeError(f"{call} : expected a tensor with 3 or 4 dimensions, but got {input.ndim + 1}")
    frequencies = input.shape[-2]
    onesided = frequencies != n_fft if onesided is None else onesided
    if onesided and frequencies != n_fft // 2 + 1:
        raise RuntimeError(
            f"{call} : expected the frequency dimension (3rd to the last) of the input tensor to match n_fft / 2 + 1 "
            f"when onesided=True, but got {frequencies}"
        )
    if not onesided and frequencies != n_fft:
        raise RuntimeError(
            f"{call} : expected the frequency dimension (3rd to the last) of the input tensor to match n_fft when "
            f"onesided=False, but got {frequencies}"
        )
    if not 0 < hop <= win:
        raise RuntimeError(f"{call} : expected 0 < hop_length <= win_length")
    if not 0 < win <= n_fft:
        raise RuntimeError(f"{call} : expected 0 < win_length <= n_fft")
    if window is not None and (window.ndim != 1 or window.shape[0] != win):
        raise RuntimeError(f"{call} : Invalid window shape. window has to be 1D and length of `win_length`")
    if onesided and return_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if not return_complex and window is not None and window.is_complex():
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
