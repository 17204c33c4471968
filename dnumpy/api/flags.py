"""The flags of a managed array, as ``numpy.ndarray.flags`` shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dnumpy.api.array import ghost
from dnumpy.api.buffer import owns

if TYPE_CHECKING:
    from dnumpy.api.array import ndarray

_OWN = {"O": "owndata", "OWNDATA": "owndata", "W": "writeable", "WRITEABLE": "writeable"}
_OWNDATA = 0x4  # NPY_ARRAY_OWNDATA
_SHOWN = ("C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA", "WRITEABLE", "ALIGNED", "WRITEBACKIFCOPY")


def set_writeable(array: ndarray, value: object) -> None:
    """Allow or refuse writing through ``array``; raises NumPy's error where nobody may write."""
    base = array._base
    allowed = array._buf.writeable if base is None else not base._readonly
    if value and not allowed:
        msg = "cannot set WRITEABLE flag to True of this array"
        raise ValueError(msg)
    array._readonly = not value


class Flags:
    """Memory layout of an array: contiguity from its strides, the rest from its Buffer."""

    __slots__ = ("_array", "_seen")

    def __init__(self, array: ndarray) -> None:
        self._array = array
        self._seen = ghost(array).flags

    @property
    def owndata(self) -> bool:
        """Whether this is the base itself, and its memory nobody else's."""
        return self._array._base is None and owns(self._array._buf)

    @property
    def writeable(self) -> bool:
        """Whether the array may be written to."""
        return not self._array._readonly

    @writeable.setter
    def writeable(self, value: bool) -> None:
        set_writeable(self._array, value)

    @property
    def num(self) -> int:
        """All flags as bits."""
        return self._seen.num | (_OWNDATA if self.owndata else 0)

    def __getattr__(self, name: str) -> Any:
        """Contiguity and alignment, as the ghost has them."""
        return getattr(self._seen, name)

    def __dir__(self) -> list[str]:
        """Name the flags that the ghost has too."""
        return sorted({*super().__dir__(), *dir(self._seen)})

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a slot or the one flag that is kept here; NumPy knows of all others."""
        if name == "writeable" or name in Flags.__slots__:
            object.__setattr__(self, name, value)
        else:
            setattr(self._seen, name, value)

    def __delattr__(self, name: str) -> None:
        """Raise NumPy's error."""
        delattr(self._seen, name)

    def __getitem__(self, key: str) -> Any:
        """Return a flag by one of NumPy's upper-case names."""
        return getattr(self, _OWN[key]) if key in _OWN else self._seen[key]

    def __setitem__(self, key: str, value: Any) -> None:
        """Set a flag by name."""
        if key in ("W", "WRITEABLE"):
            self.writeable = value
        else:
            self._seen[key] = value

    def __eq__(self, other: object) -> bool:
        return self.num == getattr(other, "num", None)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return NumPy's listing."""
        return "\n".join(f"  {name} : {self[name]}" for name in _SHOWN) + "\n"
