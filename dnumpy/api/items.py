"""Reading and writing items of an array: the shortest path from brackets to NumPy's.

What is managed goes to :mod:`dnumpy.api.indexing`. The order of the questions is that of how often
each is answered yes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dnumpy.api import calls, indexing, stands
from dnumpy.api.array import bare, concrete, ghost, ndarray, small
from dnumpy.api.ufuncs import IMMEDIATE

_np_array = np.ndarray
_PLAIN_KEYS = frozenset({int, slice, type(None), type(Ellipsis), np.int64})


def getitem(self: ndarray, key: Any) -> Any:
    """Return ``self[key]``."""
    a = self._np
    if a is None:
        return indexing.get(self, key)
    kind = type(key)
    if kind is int or (kind is tuple and _PLAIN_KEYS.issuperset(map(type, key))):
        r = a[key]
        if type(r) is not _np_array:
            return r
    elif kind is slice:
        r = a[key]
    elif kind is ndarray:
        return _picked(self, a, key)
    else:
        plain = _plain_key(key)
        found = indexing.taken_here(a, plain) if kind is tuple else None
        if found is not None:
            return found
        r = a[plain]
        if type(r) is not _np_array:
            return r
    made = bare()
    made._np = r
    made._base = self
    return made


def _picked(array: ndarray, a: np.ndarray, key: ndarray) -> Any:
    """Return what an array of ours picks of a small array."""
    places = key._np
    if places is None:
        found = indexing.get_small(array, key)
        if found is not NotImplemented:
            return found
        places = calls.unwrap(key)
    r = a[places]
    return small(r) if type(r) is _np_array else r


def _plain_key(key: Any) -> Any:
    """Return an index without arrays of ours."""
    return key if type(key) in _PLAIN_KEYS else calls.unwrap(key)


def setitem(self: ndarray, key: Any, value: Any) -> None:
    """Perform ``self[key] = value``."""
    a = self._np
    if a is None:
        indexing.set_(self, key, value)
        return
    kind = type(value)
    if kind in IMMEDIATE:
        plain = value
    else:
        plain = value._np if kind is ndarray and a.dtype.kind != "O" else None
        if plain is None:
            _set_other(a, key, value)
            return
    kind = type(key)
    if kind is not int and kind is not slice:
        key = _plain_key(key)
    a[key] = plain


def _set_other(a: np.ndarray, key: Any, value: Any) -> None:
    """Assign what is neither a small array nor a plain scalar, or to an array of objects."""
    if calls.waiting:
        calls.settle()
    key = _plain_key(key)
    if not (a.dtype.kind == "O" and _is_element(a, key)):
        value = calls.unwrap(value)
    a[key] = value
    if a.dtype.hasobject and stands.any_in((value,)):
        stands.put_back(a)


def _is_element(a: np.ndarray, key: Any) -> bool:
    """Whether a key addresses one element: an object array keeps the very object stored there."""
    keys = key if type(key) is tuple else (key,)
    return len(keys) == a.ndim and all(isinstance(k, int | np.integer) for k in keys)


def delitem(self: ndarray, key: Any) -> None:
    """Refuse as NumPy does."""
    del concrete(self)[key]


def length(self: ndarray) -> int:
    """Return the extent of axis 0."""
    a = self._np
    return len(a) if a is not None else len(ghost(self))


def contains(self: ndarray, value: Any) -> bool:
    """Say whether an element equals ``value``."""
    return bool((self == value).any())
