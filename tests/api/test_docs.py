"""Documentation is NumPy's, and tells besides how dnumpy computes the name."""

from __future__ import annotations

import doctest
import importlib
import inspect
import itertools
import pickle
import types
import warnings
from typing import Any

import numpy as np
import pytest

import dnumpy
from dnumpy.api.coverage import MODULES
from dnumpy.api.describe import kind_of
from dnumpy.api.docs import HOW, documented
from dnumpy.api.namespace import classify, public_names
from dnumpy.native import OF_PYTHON

TOLD = frozenset(HOW)
FUNCTIONS = (types.FunctionType, *OF_PYTHON)


def module_of(root: str, path: str) -> Any:
    if path == "numpy.emath":
        return importlib.import_module(root).emath
    return importlib.import_module(root + path.removeprefix("numpy"))


def documented_pairs() -> list[tuple[str, str, Any, Any]]:
    """Return (qualified name, class, ours, NumPy's) of every name that dnumpy computes."""
    pairs = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in MODULES:
            theirs, ours = module_of("numpy", path), module_of("dnumpy", path)
            for name in public_names(theirs):
                expected = getattr(theirs, name)
                found = getattr(ours, name)
                if callable(expected) and found is not expected and id(found) not in pairs:
                    kind = classify(name, expected, path)[0]
                    if isinstance(expected, type):
                        kind = "type"
                    pairs[id(found)] = (f"{path}.{name}", kind, found, expected)
    return list(pairs.values())


PAIRS = documented_pairs()
METHODS = [
    (cls.__name__, name, getattr(ours, name), getattr(cls, name))
    for cls, ours in (
        (np.ndarray, dnumpy.ndarray),
        (np.random.Generator, dnumpy.random.Generator),
        (np.random.RandomState, dnumpy.random.RandomState),
    )
    for name in dir(cls)
    if not name.startswith("_") and isinstance(getattr(ours, name), FUNCTIONS)
]


def paragraph(kind: str) -> str:
    return " ".join(HOW[kind])


def numpys(function: object) -> str | None:
    """Return NumPy's text; SciPy writes into that of some public functions."""
    return getattr(function, "_implementation", function).__doc__ or function.__doc__


def squeezed(text: str) -> str:
    return " ".join(text.split())


def without(text: str, kind: str) -> str:
    """Return the text less what dnumpy says, and less the title if that is all there is."""
    rest = squeezed(text)
    said = paragraph(kind)
    assert rest.count(said) == 1
    titled = f"Notes ----- {said}"
    return squeezed(rest.replace(titled, "")), squeezed(rest.replace(said, ""))


def assert_numpys_and_how(found: str | None, expected: str | None, kind: str, name: str) -> None:
    if not expected or not expected.strip():
        assert found == expected, name
        return
    assert found is not None, name
    assert squeezed(expected) in without(found, kind), name


def test_every_name_that_is_computed_says_how_and_nothing_else_is_changed() -> None:
    computed = [p for p in PAIRS if p[1] in TOLD]
    assert len(computed) > 600
    assert {kind for _, kind, _, _ in computed} == TOLD
    for name, kind, found, expected in computed:
        assert_numpys_and_how(found.__doc__, numpys(expected), kind, name)


def test_methods_say_how_too() -> None:
    assert len(METHODS) > 130
    kinds = set()
    for cls, name, found, expected in METHODS:
        drawn = cls != "ndarray"
        kind = classify(name, expected, "numpy.random")[0] if drawn else kind_of(name)
        kinds.add(kind)
        assert_numpys_and_how(found.__doc__, expected.__doc__, kind, f"{cls}.{name}")
    assert kinds == TOLD


def test_types_and_attributes_keep_numpys_words() -> None:
    for name in ("ndarray", "ufunc", "flatiter", "dtype", "float64"):
        assert getattr(dnumpy, name).__doc__ == getattr(np, name).__doc__
    for name, value in vars(dnumpy.ndarray).items():
        if isinstance(value, property) and not name.startswith("_"):
            assert value.__doc__ == getattr(np.ndarray, name).__doc__, name
    assert dnumpy.ndarray.__add__.__doc__ == np.ndarray.__add__.__doc__


def test_examples_stay_as_they_are() -> None:
    parser = doctest.DocTestParser()
    compared = 0
    for name, _, found, expected in PAIRS:
        if not numpys(expected) or ">>>" not in numpys(expected):
            continue
        ours, theirs = (
            [(e.source, e.want) for e in parser.get_examples(inspect.cleandoc(doc))]
            for doc in (found.__doc__, numpys(expected))
        )
        assert ours == theirs, name
        compared += len(theirs)
    assert compared > 2_000


def test_the_layout_stays_that_of_numpydoc() -> None:
    docscrape = pytest.importorskip("scipy._lib._docscrape")

    def sections(text: str) -> dict[str, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return dict(docscrape.NumpyDocString(inspect.cleandoc(text)).items())

    compared = 0
    for name, kind, found, expected in PAIRS:
        if kind not in TOLD or not (numpys(expected) or "").strip():
            continue
        try:
            theirs = sections(numpys(expected))
        except ValueError:  # NumPy's own text is not numpydoc
            continue
        ours = sections(found.__doc__)
        told = ours.pop("Notes")
        known = theirs.pop("Notes")
        assert ours == theirs, name
        assert " ".join(told).split()[: len(" ".join(known).split())] == " ".join(known).split()
        assert squeezed(" ".join(told)).endswith(paragraph(kind)), name
        compared += 1
    assert compared > 500


def test_notes_come_before_references_and_examples() -> None:
    order = ("Notes", "References", "Examples")
    for name, kind, found, expected in PAIRS:
        if kind not in TOLD or not (numpys(expected) or "").strip():
            continue
        lines = [line.strip() for line in found.__doc__.split("\n")]
        titles = [a for a, b in itertools.pairwise(lines) if a in order and b[:3] == "---"]
        if (
            titles.count("Notes") == len(set(titles) & {"Notes"})
            and numpys(expected).find("---") > 0
        ):
            theirs = [line.strip() for line in numpys(expected).split("\n")]
            given = [t for t in order if t in theirs]
            if [t for t in theirs if t in order] == given:  # NumPy itself keeps the order
                assert titles == sorted(titles, key=order.index), name


@pytest.mark.parametrize("indent", ["", "    ", "        "])
@pytest.mark.parametrize(
    "body",
    [
        "One line.",
        "Sum.\n\nNotes\n-----\nOld.",
        "Sum.\n\nExamples\n--------\n>>> 1\n1",
        "Sum.\n\nNotes\n-----\nOld.\n\nReferences\n----------\n.. [1]\n\nExamples\n--------\n>>> 1",
        "Sum, see Notes\nor Examples\n\nReferences\n----------\n.. [1] A.",
    ],
)
def test_a_paragraph_ends_the_notes_whatever_the_indentation(body: str, indent: str) -> None:
    stored = body.replace("\n", "\n" + indent) + "\n" + indent
    clean = inspect.cleandoc(documented(stored, "fallback") or "")
    before, _, after = clean.partition("\n".join(HOW["fallback"]))
    assert before.endswith(("Old.\n\n", "Notes\n-----\n"))
    assert before.count("Notes\n-----\n") == 1
    assert not after.strip() or after.startswith(("\n\nReferences\n---", "\n\nExamples\n---"))


def test_what_has_no_text_gets_none() -> None:
    assert documented(None, "primitive") is None
    assert documented("Text.", "constant") == "Text."


@pytest.mark.parametrize("name", [n for n in dir(np.ndarray) if callable(getattr(np.ndarray, n))])
def test_a_method_of_an_array_has_numpys_name(name: str) -> None:
    theirs = getattr(np.ndarray, name)
    ours = vars(dnumpy.ndarray).get(name)
    if isinstance(ours, FUNCTIONS) and name != "__new__":
        assert ours.__name__ == theirs.__name__


@pytest.mark.parametrize("name", ["reshape", "flatten", "sum", "__add__", "copy"])
def test_a_bound_method_can_be_pickled(name: str) -> None:
    method = pickle.loads(pickle.dumps(getattr(dnumpy.arange(4), name)))
    given = {"reshape": (2, 2), "__add__": (1,)}.get(name, ())
    np.testing.assert_array_equal(np.asarray(method(*given)), getattr(np.arange(4), name)(*given))
