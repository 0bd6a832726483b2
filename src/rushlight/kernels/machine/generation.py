"""LLVM's code generation, by several threads at once.

llvmlite lets one thread at a time into LLVM. LLVM itself asks for less: each thread needs a context and a target machine of its
own. So the functions that generate code are called here as they are in llvmlite's library, past its lock.
"""

from __future__ import annotations

import ctypes
import threading

_POINTER, _TEXT = ctypes.c_void_p, ctypes.c_char_p
_MESSAGE = ctypes.POINTER(_TEXT)
_OBJECT_FILE = 1
_FUNCTIONS = {  # name -> result, parameters
    "ContextCreate": (_POINTER, ()),
    "ContextDispose": (None, (_POINTER,)),
    "ParseAssembly": (_POINTER, (_POINTER, _TEXT, _MESSAGE)),
    "DisposeModule": (None, (_POINTER,)),
    "TargetMachineEmitToMemory": (_POINTER, (_POINTER, _POINTER, ctypes.c_int, _MESSAGE)),
    "GetBufferStart": (_POINTER, (_POINTER,)),
    "GetBufferSize": (ctypes.c_size_t, (_POINTER,)),
    "DisposeMemoryBuffer": (None, (_POINTER,)),
}


class Generator:
    """Makes object files of LLVM IR. ``new_machine()`` gives an llvmlite TargetMachine, of which each thread has its own."""

    def __init__(self, llvm, new_machine):
        library = ctypes.CDLL(llvm.ffi.lib._name)
        for name, (result, parameters) in _FUNCTIONS.items():
            function = getattr(library, f"LLVMPY_{name}")
            function.restype, function.argtypes = result, parameters
            setattr(self, f"_{name}", function)
        self._new_machine, self._idle = new_machine, []

    def object_files(self, texts):
        """The object file (bytes) of each of the texts, made at once."""
        found: list = [None] * len(texts)

        def work(number):
            try:
                found[number] = self._object_file(texts[number].encode())
            except BaseException as error:  # raised below, in the thread that asked
                found[number] = error

        threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(1, len(texts))]
        for thread in threads:
            thread.start()
        work(0)
        for thread in threads:
            thread.join()
        for each in found:
            if isinstance(each, BaseException):
                raise each
        return found

    def _object_file(self, text):
        machine = self._idle.pop() if self._idle else self._new_machine()
        context, message = self._ContextCreate(), _TEXT()
        try:
            module = self._ParseAssembly(context, text, ctypes.byref(message))
            if not module:
                raise RuntimeError(f"LLVM cannot read a program's text: {message.value.decode()}")
            try:
                return self._emitted(machine, module, message)
            finally:
                self._DisposeModule(module)
        finally:
            self._ContextDispose(context)
            self._idle.append(machine)

    def _emitted(self, machine, module, message):
        place = ctypes.cast(machine._ptr, _POINTER)
        buffer = self._TargetMachineEmitToMemory(place, module, _OBJECT_FILE, ctypes.byref(message))
        if not buffer:
            raise RuntimeError(f"LLVM cannot generate code for a program: {message.value.decode()}")
        try:
            return ctypes.string_at(self._GetBufferStart(buffer), self._GetBufferSize(buffer))
        finally:
            self._DisposeMemoryBuffer(buffer)
