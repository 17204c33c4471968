"""What other packages have compiled, called with NumPy's arrays for ours (``compiled.c``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dnumpy import native

if TYPE_CHECKING:
    from collections.abc import Callable


def hand_over_by(
    function: Callable[[Any], Any], kinds: tuple[type, ...], knows: Callable[[str], bool]
) -> None:
    """Keep what gives NumPy's for what is ours or holds such: arrays, and instances of these.

    ``knows`` says whether a module whose file it is given knows NumPy.
    """
    native._module.hand_over_by(function, kinds, knows)  # noqa: SLF001 - the package's own


def handing(function: Any, home: list[Any]) -> Any:  # noqa: ANN401 - of any class
    """Return a compiled function that is called with NumPy's arrays; it shows what that shows.

    ``home`` is one list for its module: whether that knows NumPy, None if it has to be asked, and
    the path of its file.
    """
    return native._module.handing(function, home)  # noqa: SLF001 - the package's own


def hand_over_in(kind: type, names: tuple[str, ...], home: list[Any], *, slots: bool) -> None:
    """Have a compiled class's methods of these names called so, and perhaps its own slots.

    Those of classes that are derived from another than ``object`` stay as they are.
    """
    native._module.hand_over_in(kind, names, slots, home)  # noqa: SLF001 - the package's own
