"""Object files of kernels brought into memory without a compiler.

A kernel on disk is position-independent code that refers to its own constants, and to a few
functions of the C library. To place it takes a fraction of a millisecond; to import LLVM for that
would take 0.1 s and 40 MB. What is not known here (another system, another kind of reference) is
left to LLVM.

Source: System V Application Binary Interface, AMD64 Architecture Processor Supplement, chapter 4.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct
import sys
from typing import NamedTuple

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELA = struct.Struct("<QQq")
_RELOCATABLE, _X86_64 = 1, 62
_SYMTAB, _RELAS, _NOBITS, _UNWINDING = 2, 4, 8, 0x70000001
_ALLOC = 2  # a section that takes memory
_PC32, _PLT32 = 2, 4  # kinds of references: 32 bits, from where they stand
_JUMP = b"\xff\x25\x00\x00\x00\x00"  # to the address that follows
_STUB = len(_JUMP) + 8
_EXTERNAL = 0xFFF1  # numbers of sections from here on are none


class Unplaceable(Exception):  # noqa: N818 - an answer, not an error
    """The object file is for LLVM to load."""


class _Section(NamedTuple):
    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int


def placed(code: bytes, symbol: str) -> int:
    """Return the address of ``symbol`` after placing the object file in memory.

    Raises
    ------
    Unplaceable
        It has what only LLVM knows, or the system does not let memory be executed.
    """
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise Unplaceable(platform.machine())
    try:
        return _Object(code).place(symbol)
    except (struct.error, IndexError, OSError, ValueError) as error:
        raise Unplaceable(str(error)) from error


class _Object:
    def __init__(self, code: bytes) -> None:
        self.code = code
        fields = _HEADER.unpack_from(code)
        magic, kind, machine, at, count, names = (fields[k] for k in (0, 1, 2, 6, 12, 13))
        if magic[:6] != b"\x7fELF\x02\x01" or (kind, machine) != (_RELOCATABLE, _X86_64):
            raise Unplaceable(repr(magic))
        raw = [_SECTION.unpack_from(code, at + k * _SECTION.size) for k in range(count)]
        start = raw[names][4]
        self.sections = [
            _Section(self._text(start + s[0]), s[1], s[2], s[4], s[5], s[6], s[7], s[8])
            for s in raw
        ]
        self.bases: dict[int, int] = {}  # section -> where it begins in memory

    def _text(self, at: int) -> str:
        return self.code[at : self.code.index(b"\0", at)].decode()

    def place(self, symbol: str) -> int:
        """Return the address of a symbol after copying and linking all sections."""
        size = 0
        for number, section in enumerate(self.sections):
            unwinding = section.kind == _UNWINDING or section.name == ".eh_frame"
            if section.flags & _ALLOC and not unwinding:
                align = max(section.align, 1)
                size = -(-size // align) * align
                self.bases[number] = size
                size += section.size
        relocations = [
            (section.info, *_RELA.unpack_from(self.code, section.offset + at))
            for section in self.sections
            if section.kind == _RELAS and section.info in self.bases
            for at in range(0, section.size, _RELA.size)
        ]
        stubs = -(-size // 16) * 16
        memory = bytearray(stubs + _STUB * len(relocations) + 1)
        for number, base in self.bases.items():
            section = self.sections[number]
            if section.kind != _NOBITS:
                memory[base : base + section.size] = self._content(section)
        self._link(memory, relocations, stubs)
        return _mapped(bytes(memory)) + self._address_of(symbol)

    def _content(self, section: _Section) -> bytes:
        return self.code[section.offset : section.offset + section.size]

    def _symbols(self) -> list[tuple[int, int, int]]:
        """Return (position of the name, section, value) of each symbol."""
        (table,) = (s for s in self.sections if s.kind == _SYMTAB)
        names = self.sections[table.link].offset
        found = []
        for at in range(0, table.size, _SYMBOL.size):
            name, _, _, section, value, _ = _SYMBOL.unpack_from(self.code, table.offset + at)
            found.append((names + name, section, value))
        return found

    def _address_of(self, symbol: str) -> int:
        for name, section, value in self._symbols():
            if section in self.bases and self._text(name) == symbol:
                return self.bases[section] + value
        raise Unplaceable(symbol)

    def _link(
        self, memory: bytearray, relocations: list[tuple[int, int, int, int]], stubs: int
    ) -> None:
        """Enter the distances between what refers and what is referred to."""
        symbols = self._symbols()
        made: dict[str, int] = {}
        for target, offset, info, addend in relocations:
            name, section, value = symbols[info >> 32]
            if info & 0xFFFFFFFF not in (_PC32, _PLT32) or section >= _EXTERNAL:
                msg = f"a reference of kind {info & 0xFFFFFFFF}"
                raise Unplaceable(msg)
            if section in self.bases:
                found = self.bases[section] + value
            elif info & 0xFFFFFFFF != _PLT32:
                raise Unplaceable(self._text(name))
            else:
                found = self._stub(memory, self._text(name), made, stubs)
            at = self.bases[target] + offset
            memory[at : at + 4] = struct.pack("<i", found + addend - at)

    def _stub(self, memory: bytearray, name: str, made: dict[str, int], stubs: int) -> int:
        """Return where a jump to a function of the C library stands; it may be far away."""
        if name not in made:
            made[name] = stubs + _STUB * len(made)
            jump = _JUMP + struct.pack("<Q", _function(name))
            memory[made[name] : made[name] + _STUB] = jump
        return made[name]


def _function(name: str) -> int:
    for library in (None, "libm.so.6"):
        try:
            found = getattr(ctypes.CDLL(library), name)
        except (AttributeError, OSError):
            continue
        address = ctypes.cast(found, ctypes.c_void_p).value
        if address:
            return address
    raise Unplaceable(name)


def _mapped(content: bytes) -> int:
    """Return the address of memory that holds ``content``, and can be executed for ever."""
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    library.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    how = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    start = library.mmap(None, len(content), mmap.PROT_READ | mmap.PROT_WRITE, how, -1, 0)
    if start in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "mmap")
    ctypes.memmove(start, content, len(content))
    if library.mprotect(start, len(content), mmap.PROT_READ | mmap.PROT_EXEC):
        raise OSError(ctypes.get_errno(), "mprotect")
    return int(start)
