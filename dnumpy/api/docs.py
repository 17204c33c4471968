"""What dnumpy says about NumPy's names: NumPy's own words and signature, and how it is computed.

The sentence on how is chosen by the class that :func:`dnumpy.api.namespace.classify` gives a name;
it ends the Notes of NumPy's text, so that the sections stay those of numpydoc and in their order.
"""

from __future__ import annotations

import inspect
import re
import types
from typing import TYPE_CHECKING, Any

from dnumpy.native import OF_PYTHON, PROPERTIES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

HOW = {
    "primitive": (
        "dnumpy records this as one operation. It runs when a value is looked at,",
        "fused with what surrounds it, on rows shared out among the nodes; small",
        "arrays run at once in NumPy.",
    ),
    "composite": (
        "dnumpy writes this over recorded operations. They run when a value is looked",
        "at, fused with what surrounds them, on rows shared out among the nodes; what",
        "they do not cover, and small arrays, run in NumPy.",
    ),
    "fallback": (
        "dnumpy gathers the operands and runs NumPy's own function on one node; a",
        "`dnumpy.FallbackWarning` tells the first time that bytes are moved for it.",
    ),
}

_NEXT_SECTION = re.compile(r"\n([ \t]*)[A-Z][A-Za-z ]*\n\1-{3,}[ \t]*(?=\n|$)")


def documented(text: str | None, kind: str) -> str | None:
    """Return NumPy's documentation with a last paragraph of Notes on how dnumpy computes it.

    Parameters
    ----------
    text : str or None
        NumPy's docstring as it is stored, indented or not.
    kind : str
        The class of the name; only those of `HOW` have something to say.

    Returns
    -------
    str or None
        The text with one insertion; what has no text gets none.
    """
    how = HOW.get(kind)
    if how is None or text is None or not text.strip():
        return text
    at, indent = _section(text, "Notes")
    if at >= 0:
        following = _NEXT_SECTION.search(text, at + len(indent) + len("Notes\n-----"))
        return _insert(text, following.start() if following else len(text), indent, how)
    for name in ("References", "Examples"):
        at, indent = _section(text, name)
        if at >= 0:
            break
    else:
        at, indent = len(text), _margin(text)
    return _insert(text, at, indent, ("Notes", "-----", *how))


def _section(text: str, name: str) -> tuple[int, str]:
    """Return where the line above a section's title ends, -1 for none, and the indentation."""
    at = text.find(f"{name}\n")
    while at >= 0:
        start = text.rfind("\n", 0, at)
        indent = text[start + 1 : at]
        if not indent.strip() and text.startswith(f"{indent}---", at + len(name) + 1):
            return start, indent
        at = text.find(f"{name}\n", at + 1)
    return -1, ""


def _margin(text: str) -> str:
    """Return the indentation that all lines after the first share."""
    lines = [line for line in text.split("\n")[1:] if line.strip()]
    if not lines:
        return ""
    shortest = min(lines, key=lambda line: len(line) - len(line.lstrip()))
    return shortest[: len(shortest) - len(shortest.lstrip())]


def _insert(text: str, at: int, indent: str, lines: tuple[str, ...]) -> str:
    before = text[:at].rstrip()
    added = "\n".join(indent + line for line in lines)
    after = text[len(before) :]
    return f"{before}\n\n{added}{after}"


def describe(made: Any, wrapped: Any, kind: str) -> None:
    """Give ``made`` the documentation and the signature of NumPy's ``wrapped``."""
    # the text that NumPy has, whatever another library has made of the public function's
    text = getattr(wrapped, "_implementation", wrapped).__doc__ or wrapped.__doc__
    made.__doc__ = documented(text, kind)
    made.__wrapped__ = wrapped
    if hasattr(wrapped, "__signature__"):
        made.__signature__ = wrapped.__signature__


def describe_members(cls: type, wrapped: type, kinds: Callable[[str], str]) -> None:
    """Give every function and property in ``cls`` what NumPy's class says of the same name."""
    members: Mapping[str, Any] = vars(cls)
    for name, member in members.items():
        theirs = getattr(wrapped, name, None)
        if theirs is None or name in ("__new__", "__class_getitem__"):
            continue
        if isinstance(member, (types.FunctionType, *OF_PYTHON)) and callable(theirs):
            member.__name__ = name  # classes that wrap arrays look a bound method up by its name
            member.__qualname__ = f"{cls.__name__}.{name}"
            describe(member, theirs, kinds(name))
        elif isinstance(member, PROPERTIES):
            member.__doc__ = theirs.__doc__


def signature_of(wrapped: type) -> Any:
    """Return the property by which a metaclass gives its class the signature of NumPy's."""
    return property(lambda _cls: inspect.signature(wrapped))


def signature_of_derived(stand_ins: frozenset[type]) -> Any:
    """Return such a property for classes derived from NumPy's, and for programs' subclasses."""

    def read(cls: type) -> inspect.Signature:
        for kind in cls.__mro__:
            if kind in stand_ins:
                return inspect.signature(kind.__base__)  # type: ignore[arg-type]
            if "__init__" in vars(kind) or "__new__" in vars(kind):
                break  # a constructor of the program's own, which speaks for itself
        name = "__signature__"
        raise AttributeError(name)

    return property(read)


class Documentation:
    """The ``__doc__`` of a class whose instances have documentation of their own."""

    def __init__(self, of_class: Any, of_instance: Callable[[Any], str | None]) -> None:
        self._of_class = of_class
        self._of_instance = of_instance

    def __get__(self, instance: Any, owner: type) -> str | None:
        """Return the text of the class, or of the instance."""
        return self._of_class if instance is None else self._of_instance(instance)
