"""Reading and writing by index. NumPy itself indexes a ghost; what it answers is recorded."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import engine, native
from dnumpy.api import calls, chosen, lending, lone, take
from dnumpy.api.array import (
    SEEN,
    concrete,
    concrete_for_writing,
    facts,
    ghost,
    ghost_geometry,
    looked_at,
    ndarray,
    peek,
    room,
    runs_at_once,
    view_of,
    view_seen,
    wrap,
)
from dnumpy.api.buffer import lock_of
from dnumpy.api.locks import writing
from dnumpy.api.record import Unmanaged, is_lazy, operand, view, where, write
from dnumpy.api.scalar import DeferredScalar
from dnumpy.api.ufuncs import IMMEDIATE
from dnumpy.config import config, thread_count
from dnumpy.expr import unread
from dnumpy.expr.expr import Const, Expr
from dnumpy.expr.geometry import Geometry, contiguous_strides, copies_over_itself
from dnumpy.ops.table import VIEW
from dnumpy.runtime import direct, find, masks, places

if TYPE_CHECKING:
    from dnumpy.api.buffer import Buffer

_BASIC = frozenset({int, slice, type(None), type(Ellipsis)})
_LITTLE = 16  # views of less than one element in so many are little parts


def is_basic(key: Any) -> bool:
    """Say whether an index is basic: ints, slices, Ellipsis and newaxis only."""
    if type(key) is tuple:
        return all(_is_basic_part(k) for k in key)
    return _is_basic_part(key)


def _is_basic_part(k: Any) -> bool:
    return type(k) in _BASIC or isinstance(k, np.integer)


def picks_one(array: ndarray, key: Any) -> bool:
    """Say whether a basic index picks one element: an int for every axis and nothing else.

    NumPy reads that element, so a ghost must not be asked.
    """
    if type(key) is not tuple:
        return _is_int(key) and len(facts(array).shape) == 1
    for k in key:  # most keys begin with a slice
        if not _is_int(k):
            return False
    return len(key) == len(facts(array).shape)


def _is_int(k: Any) -> bool:
    return type(k) is int or isinstance(k, np.integer)


def seen_at(array: ndarray, key: Any) -> np.ndarray:
    """Return what a basic index shows of the array's ghost: always a view, also of one element."""
    if picks_one(array, key):
        key = (*key, ...) if type(key) is tuple else (key, ...)
    return ghost(array)[key]


def _plain_key(key: Any) -> Any:
    """Return the key with our arrays as NumPy's (their values are looked at)."""
    if type(key) is tuple:
        return tuple(_plain_part(k) for k in key)
    return _plain_part(key)


def _plain_part(k: Any) -> Any:
    if type(k) is slice:
        if _BASIC.issuperset((type(k.start), type(k.stop), type(k.step))):
            return k
        return slice(*[calls.unwrap(x) for x in (k.start, k.stop, k.step)])
    return calls.unwrap(k)


def get(array: ndarray, key: Any) -> Any:
    """Return ``array[key]`` for a managed array."""
    if _is_quick(key) or is_basic(key):
        return _get_basic(array, key)
    lends = calls.waiting or array._buf.foreign or array._buf._export is not None
    selected = lending.call(chosen.select, (array, key), {}) if lends else chosen.select(array, key)
    if selected is not None:
        return selected
    if take.is_far(array, key):
        found = take.get(array, key)
        if found is not NotImplemented:
            return found
    plain = _plain_key(key)
    return _get_basic(array, plain) if is_basic(plain) else _get_advanced(array, plain)


def _get_basic(array: ndarray, key: Any) -> Any:
    expr = array._buf.expr
    memory = expr.value
    seen = array._seen
    if seen is not None and seen[0] is memory:
        whole = seen[1]
    elif type(memory) is not np.ndarray:
        return _get_unseen(array, key)
    elif array._place is None:
        whole = memory
    else:
        whole = _over(array, memory)
    if unread.watched:
        unread.note_read(expr)
    shown = whole[key]
    if whole is not memory and shown.size * _LITTLE < whole.size:
        array._seen = (memory, whole)  # the next item takes the short path
    if type(shown) is not np.ndarray:
        return shown
    return view_seen(array, memory, shown) if shown.size else _viewed(array, key)


def _get_unseen(array: ndarray, key: Any) -> Any:
    """Return what a basic index shows of what has no memory here yet."""
    buffer = array._buf
    if buffer.unmade:
        buffer.make()
        return _get_basic(array, key)
    if picks_one(array, key):
        if find.is_only_here(find.LEAST_BYTES):  # else that is asked for in the same run
            engine.compute([buffer.expr])
            if type(buffer.expr.value) is np.ndarray:
                return _get_basic(array, key)
        return looked_at(view_of(array, seen_at(array, key)))[()]
    found = _viewed(array, key)
    if _is_picked_apart(buffer, found._place):
        engine.compute([buffer.expr])
        if buffer.expr.value is not None:
            return _get_basic(array, key)
    return found


def _viewed(array: ndarray, key: Any) -> ndarray:
    return view_of(array, ghost(array)[key])


def _is_picked_apart(buffer: Buffer, place: Geometry | None) -> bool:
    """Say whether a program goes through pending content by little parts.

    Each of them is an operation to NumPy, and much more to the engine.
    """
    if place is None or not buffer.pending:
        return False
    size = prod(place.shape)
    if size >= config.eager_below or size * _LITTLE > prod(buffer.shape):
        return False
    return engine.window.is_picked_apart() and not engine.spreads(buffer.expr)


def get_small(array: ndarray, key: ndarray) -> Any:
    """Return what an index on nodes shows of a small array; NotImplemented for any other index."""
    if take.is_far(key):
        return take.get(array, key)
    found = taken_here(array._np, key)
    return NotImplemented if found is None else found


def taken_here(values: Any, key: Any) -> ndarray | None:
    """Return what many places at home show; None where NumPy is to say."""
    if config.mode != "default":
        return None
    if type(key) is ndarray:
        key = concrete(key)
    many = type(key) is tuple or (type(key) is np.ndarray and key.size >= places.SMALLEST)
    found = native.gather(values, key, room) if many and type(values) is np.ndarray else None
    if found is None and places.applies(values, key):
        found = places.take(values, key, room)
    return None if found is None else wrap(found)


def _may_overflow(scalar: np.dtype, target: np.dtype) -> bool:
    return scalar.kind in "fc" and target.kind in "iu"


def _is_quick(key: Any) -> bool:
    """Recognise the commonest basic indices."""
    if type(key) is tuple:
        for k in key:  # noqa: SIM110 - a loop costs a third of a generator here
            if type(k) not in _BASIC:
                return False
        return True
    return type(key) in _BASIC


def _over(array: ndarray, memory: np.ndarray) -> np.ndarray:
    seen = array._seen
    if seen is not None and seen[0] is memory:
        return seen[1]
    geometry = array._geo
    return memory if geometry is None else geometry.over(memory)


def _get_advanced(array: ndarray, key: Any) -> Any:
    values = concrete(array)
    if masks.applies(values, key):
        return wrap(masks.take(values, key, room))
    found = taken_here(values, key)
    if found is not None:
        return found
    picked = values[key]
    if type(picked) is np.ndarray:
        return calls.wrap_result(picked, (array,))
    return picked


def set_(array: ndarray, key: Any, value: Any) -> None:
    """Perform ``array[key] = value`` for a managed array."""
    if calls.waiting:
        with lending.storing(array):
            _set(array, key, value)
    else:
        _set(array, key, value)


def _set(array: ndarray, key: Any, value: Any) -> None:
    if array._readonly:
        msg = "assignment destination is read-only"
        raise ValueError(msg)
    if array._place is not SEEN:
        array._seen = None  # which would keep the memory from being written to where it lies
    if _set_now(array, key, value) or is_same_view(array, key, value):
        return
    if type(value) is DeferredScalar and _may_overflow(value.dtype, facts(array).dtype):
        value = value.force()  # NumPy refuses infinity and NaN at this line
    if not _is_quick(key) and not is_basic(key):
        if chosen.store(array, key, value) or _set_masked(array, key, value):
            return
        far = not array._buf.shared and take.is_far(array, key, value)
        if far and take.set_(array, key, value):
            return
        key = _plain_key(key)
    if _is_quick(key) or is_basic(key):
        _set_basic(array, key, value)
    else:
        plain = calls.unwrap(value)
        with writing(array):
            _set_advanced(concrete_for_writing(array), key, plain)


def _set_now(array: ndarray, key: Any, value: Any) -> bool:
    """Write a small region at once, when it is computed and nobody reads it later.

    So a larger one is that takes what an array at hand shows: nothing of it can be fused with what
    comes after, and what is recorded would be copied once more. But a whole array is replaced.
    """
    plain = value if type(value) in IMMEDIATE else _at_hand(value)
    if plain is None or not _is_quick(key):
        return False
    buffer = array._buf
    with lock_of(buffer):
        memory = buffer.expr.value
        if memory is None:
            memory = _made_now(buffer)
        if type(memory) is not np.ndarray or not buffer.may_be_written():
            return False
        if unread.watched:
            unread.note_read(buffer.expr)
        whole = memory if array._place is None else _over(array, memory)
        region = whole[key]
        if type(region) is not np.ndarray:
            whole[key] = plain
        elif region.size > config.eager_below and not runs_at_once(region.size, region.itemsize):
            part = type(plain) is np.ndarray and plain.ndim > 0 and region.size < memory.size
            if not (part and lone.may_move(2 * region.nbytes)):
                return False
            region[...] = plain
        else:
            region[...] = plain
    return True


def _made_now(buffer: Buffer) -> np.ndarray | None:
    """Return memory of content that is best made at once, as what is written needs a place.

    That of one quick operation, mostly a copy: recorded with the write, it takes twice as long.
    None of all else.
    """
    if not buffer.unmade:
        if not direct.is_direct((buffer.expr,)):
            return None
        engine.compute_apart([buffer.expr])
    return buffer.memory()


def _at_hand(value: Any) -> np.ndarray | None:
    if type(value) is not ndarray:
        return value if type(value) is np.ndarray else None
    return value._np if value._np is not None else peek(value)


def _set_advanced(target: np.ndarray, key: Any, value: Any) -> None:
    whole = type(value) is np.ndarray and value.ndim == 1 and value.dtype == target.dtype
    apart = whole and masks.applies(target, key) and not np.may_share_memory(value, target)
    if apart and masks.put(target, key, value):
        return
    by_mask = type(key) is np.ndarray and type(value) in IMMEDIATE
    if not (by_mask and native.put_by_mask(target, key, value, thread_count())):
        target[key] = value


def is_same_view(array: ndarray, key: Any, value: Any) -> bool:
    """Recognise the last step of ``a[key] op= x``: Python stores the view back into itself."""
    if type(value) is not ndarray or value._np is not None or value._buf is not array._buf:
        return False
    if not is_basic(key) or value._geo is None:
        return False
    return ghost_geometry(seen_at(array, key)) == value._geo


def _set_basic(array: ndarray, key: Any, value: Any) -> None:
    seen = seen_at(array, key)
    kind = type(value)
    one = picks_one(array, key)
    sequence = kind is list or kind is tuple
    if sequence and not one:
        plain = calls.unwrap(value)
        value = np.array(plain, seen.dtype)  # element by element, as NumPy assigns
        if value.ndim > seen.ndim:
            np.empty(seen.shape, seen.dtype)[...] = plain  # which NumPy says why it does not take
    elif (
        kind is DeferredScalar
        and seen.dtype.kind in "iu"
        and not np.can_cast(value.dtype, seen.dtype)
    ):
        value = value.force()  # NumPy refuses a NaN, an infinity, or what is out of bounds
    many = sequence or bool(getattr(value, "shape", ()))
    fits = not (one and many)  # else NumPy says why not
    over_itself = _copies_over_itself(array, seen, value)
    fits = fits and not array._buf.shared and not over_itself
    if fits and (is_lazy(value) or not _cheap_now(array, seen)):
        try:
            recorded = operand(value)
        except Unmanaged:
            pass
        else:
            _record(array, seen, recorded)
            return
    plain = calls.unwrap(value)
    with writing(array):
        target = concrete_for_writing(array)
        target[key] = concrete(value) if over_itself else plain  # read from memory written to


def _copies_over_itself(array: ndarray, seen: np.ndarray, value: Any) -> bool:
    """Say whether NumPy's assignment of a view of the same memory reads what it has written."""
    if type(value) is not ndarray or value._np is not None or value._buf is not array._buf:
        return False
    source = value._geo
    if source is None:
        shape, dtype = facts(value)
        source = Geometry(0, shape, contiguous_strides(shape, dtype.itemsize), dtype)
    return copies_over_itself(ghost_geometry(seen), source)


def _cheap_now(array: ndarray, seen: np.ndarray) -> bool:
    """Whether writing at once is best: at home, nobody reads it later, and little to write."""
    buffer = array._buf
    at_home = buffer.memory_here() is not None
    little = seen.size <= config.eager_below or runs_at_once(seen.size, seen.itemsize)
    return at_home and little and buffer.may_be_written()


def _record(array: ndarray, seen: np.ndarray, value: Expr | Const) -> None:
    if isinstance(value, Expr):
        _check_broadcast(value.shape, seen.shape)
        if value.dtype.kind == "c" and seen.dtype.kind != "c":
            raise_or_warn_complex(seen.dtype)
    else:
        value = _converted(value, seen.dtype)
    if seen.size == 0:
        return
    if isinstance(value, Expr) and value.ndim > seen.ndim:
        value = _without_leading(value, value.ndim - seen.ndim)
    write(view_of(array, seen), value)


def _without_leading(value: Expr, count: int) -> Expr:
    """Return a view without the first ``count`` axes, which have length one."""
    if value.op is VIEW and value.value is None:
        (base,) = value.operands()
        seen = Geometry(*value.params)
    else:
        base = value
        strides = contiguous_strides(value.shape, value.dtype.itemsize)
        seen = Geometry(0, value.shape, strides, value.dtype)
    return view(base, seen._replace(shape=seen.shape[count:], strides=seen.strides[count:]))


def _converted(value: Const, dtype: np.dtype) -> Const:
    """Return the constant in the target's dtype; raises what NumPy's assignment raises."""
    cell = np.empty((), dtype)
    cell[...] = value.value
    return Const(cell[()])


def _forced(value: Const, dtype: np.dtype) -> Const:
    """Return the constant as NumPy writes it through a mask: scalars of its own are just cast."""
    cell = np.empty(1, dtype)
    cell[np.ones(1, bool)] = value.value
    return Const(cell[0])


def raise_or_warn_complex(dtype: np.dtype) -> None:
    """Warn as NumPy does when an assignment discards imaginary parts."""
    np.empty(1, dtype)[...] = np.zeros(1, complex)


def _check_broadcast(shape: tuple[int, ...], target: tuple[int, ...]) -> None:
    while len(shape) > len(target) and shape[0] == 1:
        shape = shape[1:]
    fits = len(shape) <= len(target) and all(
        n in (1, t) for n, t in zip(reversed(shape), reversed(target), strict=False)
    )
    if not fits:
        got, want = (str(s).replace(" ", "") for s in (shape, target))
        msg = f"could not broadcast input array from shape {got} into shape {want}"
        raise ValueError(msg)


def _set_masked(array: ndarray, key: Any, value: Any) -> bool:
    """Record ``a[mask] = scalar`` as a ``where``, so that nothing has to be counted."""
    if type(key) is not ndarray or array._buf.shared:
        return False
    if key._np is not None:
        if key._np.dtype != bool or key._np.shape != facts(array).shape:
            return False
    elif facts(key) != (facts(array).shape, np.dtype(bool)):
        return False
    lazy_value = type(value) is DeferredScalar
    if not lazy_value and not isinstance(value, int | float | complex | np.number | np.bool_):
        return False
    try:
        new = operand(value)
        mask = operand(key)
    except Unmanaged:
        return False
    shape, dtype = facts(array)
    if not shape:
        return False
    if isinstance(new, Const):
        new = _forced(new, dtype)
    before = operand(array)
    write(array, where(mask, new, before))
    return True
