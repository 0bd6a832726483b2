"""Storages against PyTorch: what ``untyped_storage()``, ``storage()`` and the storage classes give."""

import copy
import io
import pickle
import warnings

import numpy as np
import pytest

import rushlight as rl
from rushlight.tensor import storage as storage_module

torch = pytest.importorskip("torch")

# `u` and `s` are the untyped and typed storages of tensors, `t` the library.
EXPRESSIONS = """
u[0]; u[1:3]; u[-1]; u[9]; u['a']; u[0:4:2]; len(u); u.tolist(); list(u)[:2]; u.nbytes(); u.size(); repr(u); bool(u)
u.resize_(4).tolist(); u.resize_(10).nbytes(); u.resize_(0); u.clone().tolist(); u.fill_(3).tolist()
u.copy_(t.UntypedStorage(8).fill_(1)).tolist(); u.copy_(t.UntypedStorage(3)); u.float(); u.int(); u.bool(); u.double().tolist()
u.type(); str(u.device); u.is_cuda; u.get_device(); u.is_shared(); u.share_memory_().is_shared(); u.element_size()
u.data_ptr() != 0; u.filename; u.is_pinned(); u.pin_memory(); u.to(device='cpu').tolist(); u.cpu() is u; u.untyped() is u
(u.byteswap(t.int16), u.tolist()); u == u; u == s; u != u; hash(u) == hash(u); u.new().nbytes(); u.resizable(); u.is_sparse
(u.__setitem__(0, 5), u.tolist()); (u.__setitem__(slice(0, 2), 7), u.tolist()); u.__setitem__(slice(0, 4, 2), 7)
type(u).__name__; isinstance(u, t.UntypedStorage); isinstance(u, t.TypedStorage)
s[0]; s[1:3]; s[-1]; s[9]; s['a']; str(s.dtype); str(s.device); s.float(); s.half(); s.long().tolist(); s.bool().tolist()
s.byte().tolist(); s.char(); s.short(); s.bfloat16(); s.complex_float(); s.complex_double().tolist(); s.type()
type(s).__name__; s.tolist(); s.fill_(2).tolist(); s.copy_(t.arange(4.).storage()).tolist(); s.copy_(t.FloatStorage(2))
s.resize_(2); (s.resize_(2), s.size())[1]; s.size(); len(s); s.nbytes(); s.element_size(); s.is_shared(); s.untyped()
s.pickle_storage_type(); s.data_ptr() != 0; s.clone(); s.cpu() is s; s.share_memory_(); s.is_cuda; s.is_sparse
s.get_device(); s.filename; s == s; s == 1; (s.__setitem__(0, 4), s.tolist()); (s.__setitem__(slice(0, 1), 5), s.tolist())
s.pin_memory(); s.is_pinned(); isinstance(s, t.FloatStorage); isinstance(s, t.DoubleStorage); isinstance(s, t.TypedStorage)
t.FloatStorage(3).size(); t.FloatStorage([1, 2, 3]); t.FloatStorage(); t.DoubleStorage([1, 2]); t.ByteStorage(2).fill_(1)
t.BoolStorage([True, False]); t.HalfStorage(2).fill_(1); t.CharStorage([1]); t.ShortStorage([1]); t.IntStorage([1])
t.LongStorage([1]); t.BFloat16Storage([1]); t.ComplexFloatStorage([1j]); t.ComplexDoubleStorage([1j]); t.Storage is t.FloatStorage
t.FloatStorage.__name__; t.FloatStorage(2).is_cuda; t.FloatStorage(3, device='cpu'); t.FloatStorage('a'); t.FloatStorage(t.ones(2))
t.FloatStorage(3, 4); t.FloatStorage(wrap_storage=3); t.FloatStorage(wrap_storage=t.UntypedStorage(8).fill_(0))
t.FloatStorage.from_buffer(b'\\x00\\x00\\x80?\\x00\\x00\\x00@', 'native'); t.IntStorage.from_buffer(b'abcdefgh', byte_order='big')
t.IntStorage.from_buffer(b'abcdefg', 'big'); t.IntStorage.from_buffer(b'abcdefgh', 'native', 4, 1)
t.FloatStorage.from_file('/nonexistent', False, 2)
t.UntypedStorage(4).nbytes(); t.UntypedStorage(3, device='cpu').size(); t.UntypedStorage(t.ones(2)); t.UntypedStorage(2.5)
t.UntypedStorage([1, 2]).tolist(); t.UntypedStorage.from_buffer(b'abcd', dtype=t.uint8)
t.TypedStorage(3).size(); t.TypedStorage([1., 2.], dtype=t.float64); t.TypedStorage(1, 2)
t.TypedStorage(wrap_storage=u, dtype=t.int8).tolist(); t.TypedStorage(wrap_storage=u)
t.is_storage(s); t.is_storage(u); t.is_storage(3); t.storage.UntypedStorage is t.UntypedStorage
t.Tensor(u); t.Tensor(s); t.FloatTensor(s); t.DoubleTensor(s); t.IntTensor(t.IntStorage([1, 2])); t.empty(0).set_(s)
t.empty(0, dtype=t.int16).set_(u, 1, (2,), (1,)); t.ones(3).storage_type().__name__; t.ones(4)[1:].storage().size()
t.ones(4)[1:].untyped_storage().nbytes(); t.ones(4, dtype=t.bfloat16).storage(); t.ones(2, dtype=t.complex64).storage()
t.ones(2, dtype=t.bool).storage(); t.ones(2, requires_grad=True).storage().fill_(3); t.ones(2)._typed_storage()
copy.deepcopy(u).tolist(); copy.copy(u) is u; copy.deepcopy(s); pickle.loads(pickle.dumps(s)).tolist()
x[1:].untyped_storage() == x.untyped_storage(); (x.untyped_storage().fill_(0), x)[1]; (x.storage().fill_(2), x)[1]
"""


def outcome(library, expression):
    x = library.arange(4.0)
    names = {
        "t": library,
        "x": x,
        "u": library.arange(4, dtype=library.int16).untyped_storage(),
        "copy": copy,
        "pickle": pickle,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names["s"] = library.arange(4.0).storage()
        try:
            return repr(eval(expression, names))
        except Exception as error:
            return f"{type(error).__name__}: {str(error).splitlines()[0]}"


@pytest.mark.parametrize("expression", [e.strip() for e in EXPRESSIONS.replace("\n", ";").split(";") if e.strip()])
def test_same_outcome(expression):
    assert outcome(rl, expression).replace("rushlight", "torch") == outcome(torch, expression)


def test_files_as_memory(tmp_path):
    file = tmp_path / "numbers"
    file.write_bytes(bytes(16))
    storage = rl.UntypedStorage.from_file(str(file), True, 16)
    storage[0] = 7
    assert storage.filename == str(file)
    assert rl.FloatStorage.from_file(str(file), False, 4).untyped()[0] == 7
    assert rl.UntypedStorage.from_file(str(tmp_path / "new"), True, 4).nbytes() == 4


def test_typed_storages_are_deprecated(monkeypatch):
    monkeypatch.setattr(storage_module, "_warned", False)
    with pytest.warns(UserWarning, match="TypedStorage is deprecated"):
        rl.ones(1).storage()


WINDOWS = {
    "all": lambda a: a,
    "part": lambda a: a[1:3],
    "reshaped": lambda a: a.reshape(3, 4),
    "row": lambda a: a.reshape(3, 4)[1],
    "columns": lambda a: a.reshape(3, 4)[:, 1:3],
    "transposed": lambda a: a.reshape(3, 4).T,
    "with gaps": lambda a: a[1::2],
    "imaginary parts": lambda a: a.view(np.complex128).imag,
    "halves": lambda a: a.astype(np.float16)[1:],
}


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", ["from_numpy", "as_tensor", "asarray"])
def test_storage_of_an_array_is_the_part_that_it_shows(name, window):
    def told(t):
        array = np.arange(12.0)
        shown = WINDOWS[window](array)
        made = getattr(t, name)(shown)
        place = (
            made.stride(),
            made.storage_offset(),
            made.untyped_storage().nbytes(),
            made.data_ptr() == shown.ctypes.data,
        )
        file = io.BytesIO()
        t.save(made, file)
        saved = t.load(io.BytesIO(file.getvalue()))
        place += saved.stride(), saved.storage_offset(), saved.untyped_storage().nbytes()
        return place, made.add_(1).tolist(), shown.tolist(), array.tolist()

    assert told(rl) == told(torch)
