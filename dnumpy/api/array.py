"""The ndarray class: its slots, its construction and its two states."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy import engine, native
from dnumpy.api.buffer import Buffer, Export, holders
from dnumpy.api.shown import AS_NUMPYS, find_by_module
from dnumpy.config import config
from dnumpy.expr.expr import Expr, leaf, make
from dnumpy.expr.geometry import Geometry, address_of, contiguous_strides, same_dtype
from dnumpy.native import Handle
from dnumpy.ops.table import CAST, VIEW
from dnumpy.runtime.files import file_of
from dnumpy.runtime.memory import OWNER, pool

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnumpy.runtime.forecast import Prediction

SEEN = object()
_DUMMY = np.zeros(16, np.uint8)
_DUMMY_AT = address_of(_DUMMY)
BYTES_OF_OTHERS = 8  # also in native/handle.h
_MANAGED_KINDS = frozenset("biufc")
LARGE_BYTES, LITTLE = 1 << 24, 8  # of a base on nodes of which parts up to an eighth come alone
_OWN = frozenset({"predict", "to_numpy"})  # methods that NumPy's class has not


_roots: list[Any] = [np.ndarray, np.ndarray]  # without and with ``__array_ufunc__`` of its own


def derive_from(plain: type, overriding: type) -> None:
    """Let subclasses of :class:`ndarray` derive from these."""
    _roots[:] = [plain, overriding]


def _class_made(
    mcs: type, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **kwargs: Any
) -> Any:
    """Return ndarray itself, or what a program derives from it."""
    if any(type(base) is mcs for base in bases):
        beside = [b for b in bases if type(b) is not mcs and not issubclass(b, np.ndarray)]
        overrides = any(hasattr(base, "__array_ufunc__") for base in beside)
        root = _roots["__array_ufunc__" in namespace or overrides]
        bases = tuple(root if type(base) is mcs else base for base in bases)
        return type(bases[0])(name, bases, namespace, **kwargs)
    return type.__new__(mcs, f"numpy.{name}", bases, namespace, **kwargs)


def _array_made(cls: type, *args: Any, **kwargs: Any) -> Any:
    """Return a new array of a class, as ``numpy.ndarray.__new__`` does."""
    if cls is not ndarray:
        return _roots[False].__new__(cls, *args, **kwargs)
    return wrap(np.ndarray(*map(handed_out, args), **{k: handed_out(v) for k, v in kwargs.items()}))


class _Constructor:
    """What a metaclass and its class show as their ``__new__``: of the class it is only shown.

    A class with an own ``__new__`` is slow to make instances, even where that is not called.
    """

    def __get__(self, cls: type | None, kind: type) -> Any:
        return _class_made if cls is None else _array_made

    def __set__(self, cls: type, value: Any) -> None:
        type.__setattr__(cls, "__new__", value)


class _ArrayType(type):
    """Makes NumPy's own arrays count as ndarrays, and subclasses of ours subclasses of NumPy's.

    Programs that subclass ``np.ndarray`` rely on ``__array_finalize__`` and on NumPy's memory:
    they get NumPy's class to derive from, and their instances still are ``np.ndarray`` under the
    import swap.
    """

    __new__ = _Constructor()
    __module__ = AS_NUMPYS

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a new array, as ``numpy.ndarray`` does."""
        return _array_made(cls, *args, **kwargs)

    @property
    def __name__(cls) -> str:  # type: ignore[override]
        """The name without NumPy's, which is for messages: Python's own ones show all of it."""
        return cls.__qualname__

    def __repr__(cls) -> str:
        """Return NumPy's, which programs print."""
        return f"<class 'numpy.{cls.__qualname__}'>"

    def __eq__(cls, other: object) -> bool:
        """Say so of NumPy's class too: ``type(x) == np.ndarray`` of what a package returns."""
        return other is cls or other is np.ndarray

    __hash__ = type.__hash__  # tables in which classes are looked up tell them apart

    def __dir__(cls) -> list[str]:
        return [name for name in super().__dir__() if name not in _OWN]

    def __instancecheck__(cls, instance: object) -> bool:
        return type(instance) is cls or isinstance(instance, np.ndarray)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, np.ndarray)


find_by_module(_ArrayType)


class _ShownType(_ArrayType):
    """Lets what an array shows as its class stand for :class:`ndarray` everywhere but in ``is``."""

    __new__ = type.__new__
    __module__ = AS_NUMPYS

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return ndarray(*args, **kwargs)

    def __eq__(cls, other: object) -> bool:
        # not to NumPy's, from which it is derived: functools would merge the two
        return other is cls or other is ndarray

    def __hash__(cls) -> int:
        return hash(ndarray)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, ndarray)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, ndarray)


find_by_module(_ShownType)


class _Shown(np.ndarray, metaclass=_ShownType):
    __qualname__ = "ndarray"


class ndarray(Handle, metaclass=_ArrayType):
    """A NumPy array that computes when it is looked at.

    Small arrays hold a NumPy array in ``_np`` and nothing else; managed ones have ``_np`` None, a
    Buffer, a Geometry (None for the whole base) and whether writing through this handle is refused.
    """

    __slots__ = ()

    # so that an array of ours is an instance of NumPy's class too, wherever a package asks: the
    # class of that is to be one of its subclasses. What asks in C is not told, nor need it be
    __class__ = _Shown  # type: ignore[assignment]

    _np: np.ndarray | None
    _buf: Buffer
    _base: Any
    _readonly: bool
    _place: Any  # a Geometry, None for the whole base, or SEEN: as ``_seen`` shows
    _seen: (
        tuple[np.ndarray, np.ndarray] | None
    )  # (the Buffer's memory, this array as NumPy's view of it)

    @property
    def _geo(self) -> Geometry | None:
        place = self._place
        if place is SEEN:
            assert self._seen is not None
            place = self._place = geometry_of(self._seen[1], self._seen[0])
        return place

    @_geo.setter
    def _geo(self, geometry: Geometry | None) -> None:
        self._place = geometry
        self._seen = None

    def predict(self) -> Prediction:
        """Say what computing the array would take, without computing anything.

        Returns
        -------
        Prediction
            ``seconds`` (``float()`` gives them too), ``interval`` (low and high seconds, between
            which about four of five runs fall) and ``bytes`` at the peak of each node. Nothing is
            left to do for an array that has its values.

        See Also
        --------
        dnumpy.explain : the same, stage by stage.
        """
        pending = self._np is None and self._buf.pending
        return engine.predict([self._buf.expr] if pending else [])


# a handle without anything in it: the fastest way to make one that Python has
bare: Callable[[], ndarray] = type.__call__.__get__(ndarray)


def handed_out(x: Any) -> Any:
    """Return an array of ours as NumPy's over the same memory; all else as it is."""
    return exported(x) if type(x) is ndarray else x


class Facts(NamedTuple):
    """Shape and dtype of a managed array."""

    shape: tuple[int, ...]
    dtype: np.dtype


def is_managed_dtype(dtype: np.dtype) -> bool:
    """Say whether arrays of this dtype may go through the engine.

    What is kept by dtypes does not tell one with metadata from an equal one without.
    """
    return dtype.kind in _MANAGED_KINDS and dtype.isnative and dtype.metadata is None


def small(array: np.ndarray, base: Any = None) -> ndarray:
    """Return a handle that runs at once over ``array``."""
    made: ndarray = bare()
    made._np = array
    if base is not None:
        made._base = base
    return made


def managed(
    buffer: Buffer, geometry: Geometry | None, base: Any = None, *, readonly: bool = False
) -> ndarray:
    """Return a handle on a Buffer."""
    made: ndarray = bare()
    made._np = None
    made._buf = buffer
    made._place = geometry
    made._seen = None
    made._base = base
    made._readonly = readonly
    return made


def view_seen(array: ndarray, memory: np.ndarray, seen: np.ndarray) -> ndarray:
    """Return the view of ``array`` that NumPy's ``seen`` is of its computed memory.

    Its geometry is worked out when somebody needs it: most views of a loop are read and forgotten.
    """
    made: ndarray = bare()
    made._np = None
    made._buf = array._buf
    made._place = SEEN
    made._seen = (memory, seen)
    base = array._base
    made._base = array if base is None else base
    made._readonly = array._readonly
    return made


def seen_in(array: ndarray, memory: np.ndarray) -> np.ndarray | None:
    """Return what a view shows of its computed memory, which nothing holds on to."""
    geometry = array._geo
    return None if geometry is None else geometry.over(memory)


def peek(array: ndarray) -> np.ndarray | None:
    """Return small computed memory, or a small view of such, as NumPy's.

    None for what the engine should see. Without this, whatever a small array is computed with would
    be recorded too once the array had to wait for a large one.
    """
    seen = array._seen
    if seen is None:
        buffer = array._buf
        if array._place is not None or type(buffer) is not Buffer:
            return None
        memory = buffer.expr.value
        if type(memory) is not np.ndarray or not runs_at_once(memory.size, memory.itemsize):
            return None
        seen = array._seen = (memory, memory)
    memory, shown = seen
    if memory is not array._buf.expr.value or not runs_at_once(shown.size, shown.itemsize):
        return None
    return None if config.memory_limit and reaches_far(shown) else shown


def lying_here(array: ndarray) -> np.ndarray | None:
    """Return what an array shows of memory in this process, None where it is yet to be computed."""
    if array._np is not None:
        return array._np
    buffer, place = array._buf, array._place
    memory = buffer.memory_here() if type(buffer) is Buffer else None
    if memory is None or place is None:
        return memory
    seen = array._seen
    if seen is not None and seen[0] is memory:
        shown: np.ndarray = seen[1]
        return shown
    return place.over(memory) if type(place) is Geometry else None


def runs_at_once(size: int, itemsize: int) -> bool:
    """Say whether NumPy is done with a computed array before anything else has begun.

    Of booleans and bytes that may be as many as have the bytes of other small arrays. Theirs are
    managed all the same: what else is computed by such a mask may wait.
    """
    limit = config.eager_below
    return size < limit or (itemsize == 1 and size < BYTES_OF_OTHERS * limit)


def reaches_far(seen: np.ndarray | Geometry) -> bool:
    """Say whether so much memory lies under a view that it is read in blocks, however small."""
    beneath = sum([(n - 1) * abs(s) for n, s in zip(seen.shape, seen.strides, strict=True)])
    return 0 < config.memory_limit < 2 * beneath


def peek_for_writing(array: ndarray) -> np.ndarray | None:
    """Return a small view of computed memory that may be written now, else None."""
    seen = peek(array)
    if seen is None or array._readonly or not array._buf.may_be_written():
        return None
    return seen


def from_expr(expr: Expr) -> ndarray:
    """Return a fresh array whose content is ``expr``."""
    if native.built:
        found: ndarray | None = native.hold(expr)
        if found is not None:
            return found
    return managed(Buffer(expr), None)


def wrap(array: np.ndarray) -> ndarray:
    """Return a handle over a NumPy array that this library owns (nobody else will write to it)."""
    if array.size < config.eager_below or not is_managed_dtype(array.dtype):
        return small(array)
    found: ndarray | None = native.hold(array) if native.built else None
    return _wrap_managed(array, foreign=False) if found is None else found


def room(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return memory to ``wrap``: the pool's where a Buffer will hold it and shows no lease."""
    if prod(shape) < config.eager_below or not is_managed_dtype(dtype):
        return np.empty(shape, dtype)
    return pool.empty(shape, dtype)


_WRITEABLE = 0x400  # as NumPy's header has it


def _takes_writes(array: np.ndarray) -> bool:
    """Say whether an array may be written to, unheard: NumPy warns of some that are asked."""
    return bool(array.flags.num & _WRITEABLE)


def adopt(array: np.ndarray) -> ndarray:
    """Return a handle that aliases a NumPy array from outside, which others may write to.

    A file mapped for reading alone is taken for one that nobody changes.
    """
    if array.size < config.eager_below or not is_managed_dtype(array.dtype):
        return small(array)
    return _wrap_managed(array, foreign=_takes_writes(array) or file_of(array) is None)


def _wrap_managed(array: np.ndarray, *, foreign: bool) -> ndarray:
    plain = type(array) is np.ndarray and array.base is None
    writeable = _takes_writes(array)
    if plain and array.flags.c_contiguous and writeable:  # as most are
        engine.make_room(array.nbytes)
        buffer = Buffer(leaf(array, array.shape, array.dtype), foreign=foreign)
        return managed(buffer, None)
    root = array
    while type(root.base) is np.ndarray:
        root = root.base
    transposed = root.flags.f_contiguous and not root.flags.c_contiguous
    memory = root.T if transposed else root
    if type(memory) is not np.ndarray or not memory.flags.c_contiguous:
        return small(array)
    if not is_managed_dtype(memory.dtype):
        return small(array)
    engine.make_room(memory.nbytes)
    outside = root.base is not None and type(root.base) is not OWNER
    foreign = foreign or (outside and _takes_writes(root))
    buffer = Buffer(leaf(memory, memory.shape, memory.dtype), writeable=writeable, foreign=foreign)
    if outside and type(root.base) is not Export:
        holders[buffer] = root.base
    if array is root:
        geometry = None if array is memory else geometry_of(array, memory)
        return managed(buffer, geometry, readonly=not writeable)
    base = managed(buffer, geometry_of(root, memory), readonly=not _takes_writes(root))
    return managed(buffer, geometry_of(array, memory), base, readonly=not writeable)


def geometry_of(view: np.ndarray, memory: np.ndarray) -> Geometry | None:
    """Return where ``view`` lies in ``memory``; None if it is all of it."""
    offset = address_of(view) - address_of(memory)
    geometry = Geometry(offset, view.shape, view.strides, view.dtype)
    return None if geometry.is_whole(memory.shape, memory.dtype) else geometry


class _Ghostly:
    """Hands NumPy a shape and strides over one dummy element."""

    __slots__ = ("__array_interface__",)

    def __init__(self, geometry: Geometry, *, readonly: bool) -> None:
        self.__array_interface__ = {
            "shape": geometry.shape,
            "strides": geometry.strides,
            "typestr": geometry.dtype.str,
            "data": (_DUMMY_AT + geometry.offset, readonly),
            "version": 3,
        }


def ghost(array: ndarray) -> np.ndarray:
    """Return an array of this shape, strides and dtype, of which no element may be touched."""
    geometry = array._geo
    if geometry is not None:
        seen = np.asarray(_Ghostly(geometry, readonly=array._readonly))
        if not same_dtype(seen.dtype, geometry.dtype):  # the protocol knows no fields, no longlong
            seen = seen.view(geometry.dtype)
        return seen
    buffer = array._buf
    if buffer.ghost is None:
        strides = contiguous_strides(buffer.shape, buffer.dtype.itemsize)
        whole = Geometry(0, buffer.shape, strides, buffer.dtype)
        buffer.ghost = np.asarray(_Ghostly(whole, readonly=False))
        if not same_dtype(buffer.ghost.dtype, buffer.dtype):
            buffer.ghost = buffer.ghost.view(buffer.dtype)
    if not array._readonly:
        return buffer.ghost
    seen = buffer.ghost.view()
    seen.flags.writeable = False
    return seen


def ghost_geometry(view: np.ndarray) -> Geometry:
    """Return the geometry of a view derived from a ghost."""
    offset = address_of(view) - _DUMMY_AT
    return Geometry(offset, view.shape, view.strides, view.dtype)


def facts(array: ndarray) -> Facts:
    """Return shape and dtype of a managed array."""
    if array._seen is not None:
        return Facts(array._seen[1].shape, array._seen[1].dtype)
    source: Any = array._place or array._buf
    return Facts(source.shape, source.dtype)


def expr_of(array: ndarray) -> Expr:
    """Return the Expr that denotes what the array shows now; later writes do not change it."""
    buffer = array._buf
    if buffer.shared and not buffer.pending:
        return buffer.snapshot(array._geo)
    if buffer.unmade:
        buffer.make()
    if array._geo is None:
        return buffer.expr
    return make(VIEW, (buffer.expr,), tuple(array._geo), array._geo.shape, array._geo.dtype)


def concrete(array: ndarray) -> np.ndarray:
    """Return the content as a NumPy array over its own memory, for use inside the library."""
    small_array = array._np
    if small_array is not None:
        return small_array
    memory = array._buf.memory()
    if array._seen is not None and array._seen[0] is memory:
        view = array._seen[1]
    else:
        array._geo = array._geo  # the memory that was seen is not kept any longer
        view = memory if array._geo is None else array._geo.over(memory)
    return _locked(view) if array._readonly else view


def _locked(view: np.ndarray) -> np.ndarray:
    locked = view.view()
    locked.flags.writeable = False
    return locked


def looked_at(array: ndarray) -> np.ndarray:
    """Return the content for reading only; of an array on nodes only what is shown comes home."""
    if array._np is None and array._geo is not None:
        buffer = array._buf
        if buffer.pending:
            engine.compute([buffer.expr])
        if buffer.is_far:
            shown = make(CAST, (expr_of(array),), (), array._geo.shape, array._geo.dtype)
            engine.compute([shown])
            return engine.gather(shown.value)
    return concrete(array)


def shown_of_far(array: ndarray) -> np.ndarray | None:
    """Return a little part of a large array on nodes as a copy that cannot be written to.

    None where it is no such part. The rest need not come home for it.
    """
    if array._np is not None or array._geo is None:
        return None
    buffer, geometry = array._buf, array._geo
    size = prod(geometry.shape) * geometry.dtype.itemsize
    whole = prod(buffer.shape) * buffer.dtype.itemsize
    if whole < LARGE_BYTES or size * LITTLE > whole or buffer.unmade:
        return None
    if not buffer.is_far and not (buffer.pending and engine.spreads(buffer.expr)):
        return None
    shown = make(CAST, (expr_of(array),), (), geometry.shape, geometry.dtype)
    engine.compute([shown])  # and in the same run what it is a part of, where that is pending
    return _locked(engine.gather(shown.value)) if buffer.is_far else None


def concrete_for_writing(array: ndarray) -> np.ndarray:
    """Return the content as a NumPy array that may be written to now."""
    small_array = array._np
    if small_array is not None:
        return small_array
    memory = array._buf.memory_for_writing()
    view = memory if array._geo is None else array._geo.over(memory)
    return _locked(view) if array._readonly else view


def exported(array: ndarray) -> np.ndarray:
    """Return the content as a NumPy array to hand out: writes to either are seen by both."""
    small_array = array._np
    if small_array is not None:
        return small_array
    memory = array._buf.export()
    if array._geo is None and array._readonly == (not memory.flags.writeable):
        return memory
    view = memory.view() if array._geo is None else array._geo.over(memory)
    view.flags.writeable = memory.flags.writeable and not array._readonly
    return view


def view_of(array: ndarray, seen: np.ndarray) -> ndarray:
    """Return the view of the same Buffer that ``seen``, made from the array's ghost, describes."""
    base = array if array._base is None else array._base
    readonly = not seen.flags.writeable
    return managed(array._buf, geometry_over(array._buf, seen), base, readonly=readonly)


def geometry_over(buffer: Buffer, seen: np.ndarray) -> Geometry | None:
    """Return the geometry of a view derived from a Buffer's ghost; None if it is all of it."""
    geometry = ghost_geometry(seen)
    return None if geometry.is_whole(buffer.shape, buffer.dtype) else geometry
