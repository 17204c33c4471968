"""Floating-point faults are told as the error state and the filters at the user's line say."""

from __future__ import annotations

import inspect
import operator
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dnumpy
from dnumpy.api import einstein
from dnumpy.expr.watch import watch
from tests.gathering import on_nodes, spread_out

pytestmark = pytest.mark.usefixtures("managed")

Fault = Callable[[Any], Any]
FAULTS: dict[str, Fault] = {
    "divide": lambda xp: xp.arange(40.0) / xp.zeros(40)[:],
    "log": lambda xp: xp.log(xp.arange(40.0) - 3),
    "overflow": lambda xp: xp.exp(xp.arange(40.0) * 100),
    "cast": lambda xp: (xp.arange(40.0) * 1e300).astype("f4"),
    "integer division": lambda xp: xp.arange(40) // xp.zeros(40, int),
    "reduction": lambda xp: (xp.zeros(40) + 1e308).sum(),
    "fused": lambda xp: xp.sqrt(xp.arange(40.0) - 20) + 1 / xp.arange(40.0),
    "in place": lambda xp: xp.arange(40.0).__itruediv__(0.0),
    "matrix product": lambda xp: (xp.zeros((6, 6)) + 1e200) @ (xp.zeros((6, 6)) + 1e200),
    "mean": lambda xp: xp.mean(xp.zeros(40) + 1e308),
    "scalar": lambda xp: xp.arange(40.0).sum() / xp.zeros(40).sum(),
}
QUIET: dict[str, Fault] = {
    "nothing wrong": lambda xp: xp.arange(40.0) + 1,
    "underflow": lambda xp: xp.exp(xp.zeros(40) - 800),
}
EVERY = {**FAULTS, **QUIET}
every = pytest.mark.parametrize("name", EVERY)


def caught(name: str, xp: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        EVERY[name](xp)
    return [str(w.message) for w in seen]


@every
def test_a_block_that_collects_warnings_sees_what_numpy_would_show(name: str) -> None:
    found, expected = caught(name, dnumpy), caught(name, np)
    assert sorted(set(found)) == sorted(set(expected))
    assert bool(expected) == (name in FAULTS)


@every
def test_a_warning_made_an_error_is_raised_by_the_call(name: str) -> None:
    def outcome(xp: Any) -> str:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            try:
                EVERY[name](xp)
            except RuntimeWarning as error:
                return str(error)
        return "quiet"

    found, expected = outcome(dnumpy), outcome(np)
    assert (found == "quiet") == (expected == "quiet")
    assert found in {expected, *caught(name, np)}


@every
def test_a_fault_that_is_ignored_where_it_is_recorded_stays_so(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        result = EVERY[name](dnumpy)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.asarray(result)


@every
def test_errstate_raise_raises_by_the_call(name: str) -> None:
    def outcome(xp: Any) -> str:
        with np.errstate(all="raise", under="ignore"):
            try:
                EVERY[name](xp)
            except FloatingPointError as error:
                return str(error)
        return "quiet"

    found, expected = outcome(dnumpy), outcome(np)
    assert (found == "quiet") == (expected == "quiet")
    assert found in {expected, *caught(name, np)}


@every
def test_the_error_state_at_recording_counts_and_not_the_one_at_looking(name: str) -> None:
    with np.errstate(all="ignore"):
        quiet = EVERY[name](dnumpy)
    loud = EVERY[name](dnumpy)
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        np.asarray(quiet)
    with np.errstate(all="ignore"):
        np.asarray(loud)


@pytest.mark.parametrize("answer", ["call", "log", "print"])
def test_a_handler_is_told_during_the_call(answer: str, capfd: pytest.CaptureFixture[str]) -> None:
    class Log:
        def __init__(self) -> None:
            self.told: list[Any] = []

        def __call__(self, kind: str, flag: int) -> None:
            self.told.append((kind, flag))

        def write(self, text: str) -> None:
            self.told.append(text)

    def told(xp: Any, name: str) -> Any:
        log = Log()
        with xp.errstate(all=answer, under="ignore", call=log):
            FAULTS[name](xp)
        return log.told, capfd.readouterr().err

    for name in ("divide", "cast", "overflow"):
        expected = told(np, name)
        assert expected != ([], "")
        assert told(dnumpy, name) == expected


def test_the_warning_names_the_line_that_recorded() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        x = dnumpy.arange(40.0) / dnumpy.zeros(40)
        line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    assert {(w.filename, w.lineno) for w in seen} == {(__file__, line)}
    del x


def test_a_value_recorded_before_a_block_does_not_warn_into_it() -> None:
    before = dnumpy.arange(40.0) / dnumpy.zeros(40)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        after = dnumpy.log(dnumpy.zeros(40))
    assert {str(w.message) for w in seen} == {"divide by zero encountered in log"}
    del before, after


def test_pytest_warns_and_numpys_own_check_see_the_warning() -> None:
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        FAULTS["divide"](dnumpy)
    np.testing.assert_warns(RuntimeWarning, FAULTS["divide"], dnumpy)
    with np.testing.suppress_warnings() as quiet:
        log = quiet.record(RuntimeWarning)
        FAULTS["log"](dnumpy)
    assert len(log)


def test_work_is_deferred_unless_somebody_listens() -> None:
    assert not watch().at_once
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not watch().at_once
        warnings.filterwarnings("error", "never said", RuntimeWarning)
        assert watch().at_once
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        assert watch().at_once
    assert not watch().at_once


SCRIPT = """
import warnings
import dnumpy as np

def ratio(n):
    return np.ones(n) / np.zeros(n)

for _ in range(3):
    print(ratio(3)[0], ratio(3)[1])
a = np.log(np.zeros(3))
print(a)
warnings.filterwarnings("ignore", module="__main__")
print(np.sqrt(np.zeros(3) - 1))
warnings.filterwarnings("error", "invalid", module="__main__")
try:
    np.sqrt(np.zeros(5) - 1)
except RuntimeWarning as error:
    print("raised", error)
with warnings.catch_warnings(record=True) as seen:
    np.cosh(np.zeros(4) + 1e4)
print(len(seen))
"""


def run(source: str, mode: str) -> Any:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source)],
        capture_output=True,
        text=True,
        check=True,
        env={"DNUMPY_MODE": mode, "PYTHONPATH": ":".join(sys.path)},
    )


@pytest.mark.parametrize("mode", ["default", "lazy", "split"])
def test_a_script_warns_once_a_line_and_filters_by_module(mode: str) -> None:
    found = run(SCRIPT, mode)
    expected = run(SCRIPT.replace("import dnumpy as np", "import numpy as np"), mode)
    assert found.stdout == expected.stdout
    assert found.stderr == expected.stderr
    assert expected.stderr.count("RuntimeWarning") == 2


DISCARDING = """
import dnumpy as np

x = np.arange(300_000) * (1 + 1j)
for _ in range(2):
    a = x.astype(float) + 1
    b = x.cumsum(dtype=float)
    c = np.zeros(len(x)); c[5:200_000] = x[5:200_000]
    d = np.add.reduce(x, dtype=float)
print(a[1])
print(b[1], c[6])
print(d)
"""


@pytest.mark.parametrize("mode", ["default", "lazy", "split"])
def test_discarded_imaginary_parts_are_told_once_where_they_are_recorded(mode: str) -> None:
    found = run(DISCARDING, mode)
    expected = run(DISCARDING.replace("import dnumpy as np", "import numpy as np"), mode)
    assert found.stdout == expected.stdout
    assert found.stderr == expected.stderr
    assert expected.stderr.count("ComplexWarning") == 4


ALWAYS = """
import warnings
import dnumpy as np

def show(text, category, file, line, *rest):
    print(file, line, category.__name__, text)

def all_of_them(z):
    z / z
    np.log(z)
    np.log(z, out=z)
    z[...] = 0
    z /= z
    np.divide.reduce(z)
    z ** -1.0
    divmod(z, z)
    (z + 1e200).astype("f4")
    q = z.astype("f4")
    q[0] = 1e300
    np.zeros(0).mean()
    np.nanmean(z)
    np.nanpercentile(z, 50)
    np.polyfit(np.ones(3), np.arange(3.0), 2)
    z.sum() / 0
    np.subtract.outer(z + np.inf, z + np.inf)
    w = np.zeros(40)
    (w + 1e200).cumprod()
    np.add.accumulate(w + 1e308)
    (w + 1e200) @ (w + 1e200)
    np.add.at(w, [0, 0], [np.inf, -np.inf])

warnings.showwarning = show
warnings.simplefilter("always")
all_of_them(np.zeros(40))
warnings.resetwarnings()
warnings.filterwarnings("always", category=RuntimeWarning)
all_of_them(np.zeros(40))
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    all_of_them(np.zeros(40))
print(*[(w.filename, w.lineno, str(w.message)) for w in seen], sep="\\n")
with warnings.catch_warnings():
    warnings.simplefilter("always")
    warnings.simplefilter("ignore")
    all_of_them(np.zeros(40))
    warnings.simplefilter("always")
    np.log(np.zeros(40))
"""


@pytest.mark.parametrize("mode", ["default", "lazy", "split"])
def test_every_warning_names_the_users_line_whatever_filters_come_later(mode: str) -> None:
    found = run(ALWAYS, mode).stdout.splitlines()
    expected = run(ALWAYS.replace("import dnumpy as np", "import numpy as np"), mode).stdout
    theirs = [line for line in expected.splitlines() if "<string>" in line]
    ours = str(Path(dnumpy.__file__).parent)
    assert [line for line in found if ours in line] == []
    assert [line for line in theirs if line not in found] == []
    assert len(theirs) > 30
    assert found.count(theirs[-1]) == expected.count(theirs[-1])
    assert sum("divmod" in line for line in found) == expected.count("divmod")


TWICE = """
import dnumpy as np

a = np.arange(SIZE)
with np.errstate(divide="ignore"):
    quiet = 1 / a
told = 1 / a
with np.errstate(invalid="ignore"):
    quiet = np.sqrt(-a) + 1
print(np.sqrt(-a).max(), quiet[0])
first = np.log(a)
second = np.log(a) + 1
print(first[1], second[1], told[1])
first = 1 + (a * np.inf)
second = np.tan(a * np.inf)
print(first[1], second[1])
for _ in range(2):
    text = "print(np.arccos(a + 2)[1])\\nprint(np.arccos(a + 3)[1])"
    text += "\\nc = np.arccos(a + 4)\\nd = np.log(-a) + c\\ne = c + 1\\nprint(d[1], e[1])"
    exec(compile(text, "given", "exec"), {"np": np, "a": a, "__name__": "__main__"})
"""


@pytest.mark.parametrize("mode", ["default", "lazy"])
@pytest.mark.parametrize("size", ["40.0", "300_000.0", "2_000_000.0"])
def test_lines_that_record_the_same_are_told_each(mode: str, size: str) -> None:
    source = TWICE.replace("SIZE", size)
    found = run(source, mode)
    expected = run(source.replace("import dnumpy as np", "import numpy as np"), mode)
    assert found.stdout == expected.stdout
    assert sorted(found.stderr.splitlines()) == sorted(expected.stderr.splitlines())
    assert expected.stderr.count("RuntimeWarning") >= 10


TOO_LARGE = """
import dnumpy as np

x = np.zeros(SIZE, np.float32)
x += 1e300
print(x[0])
y = np.ones(SIZE, np.float32) * 1e300
print(y[0])
print((np.ones(SIZE, np.float32) < 1e300)[0])
h = np.ones(SIZE, np.float16) + 1e6
print(h[0])
z = np.ones(SIZE, np.complex64) + 1e60
print(z[0])
w = np.zeros(SIZE, np.float32) * 1e60
print(w[0])
v = np.ones(SIZE, np.float32) * 3e38 + 3e38
print(v[0])
"""


@pytest.mark.parametrize("mode", ["default", "lazy"])
@pytest.mark.parametrize("size", ["40", "300_000"])
def test_a_number_too_large_for_the_arrays_overflows_in_its_cast(mode: str, size: str) -> None:
    source = TOO_LARGE.replace("SIZE", size)
    found = run(source, mode)
    expected = run(source.replace("import dnumpy as np", "import numpy as np"), mode)
    assert found.stdout == expected.stdout
    assert sorted(found.stderr.splitlines()) == sorted(expected.stderr.splitlines())
    assert expected.stderr.count("in cast") == 6


INFINITE = np.ones((12, 12))
INFINITE[1, 2] = np.inf
EMPTY = np.ones((12, 12))
EMPTY[2, 0] = 0
STACK = np.stack([INFINITE] * 3)
PRODUCTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "dot": lambda xp, a, b: xp.dot(a, b),
    "dot of vectors": lambda xp, a, b: xp.dot(a[1], b[:, 0]),
    "dot of a stack": lambda xp, _a, b: xp.dot(xp.array(STACK), b),
    "method": lambda _xp, a, b: a.dot(b),
    "inner": lambda xp, a, b: xp.inner(a, b.T),
    "inner of vectors": lambda xp, a, b: xp.inner(a[1], b[:, 0]),
    "vdot": lambda xp, a, b: xp.vdot(a, b.T),
    "matmul": lambda _xp, a, b: a @ b,
    "matmul of a stack": lambda xp, _a, b: xp.array(STACK) @ b,
    "matvec": lambda xp, a, b: xp.matvec(a, b[:, 0]),
    "tensordot": lambda xp, a, b: xp.tensordot(a, b, 1),
    "multi_dot": lambda xp, a, b: xp.linalg.multi_dot([a, b]),
    "outer": lambda xp, a, b: xp.outer(a[1], b[:, 0]),
    "einsum": lambda xp, a, b: xp.einsum("ij,jk->ik", a, b),
    "einsum of vectors": lambda xp, a, b: xp.einsum("i,i", a[1], b[:, 0]),
    "einsum of three": lambda xp, a, b: xp.einsum("ij,jk,kl->il", a, b, b),
    "optimized": lambda xp, a, b: xp.einsum("ij,jk->ik", a, b, optimize=True),
    "optimized, one by one": lambda xp, a, b: xp.einsum("i,i->i", a[1], b[:, 0], optimize=True),
    "optimized, three": lambda xp, a, b: xp.einsum("ij,jk,kl->il", a, b, b, optimize=True),
    "optimized sum": lambda xp, a, _b: xp.einsum("ij->j", a, optimize=True),
}


@pytest.mark.parametrize("far", [False, True], ids=["here", "nodes"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_tell_faults_under_numpys_names(
    name: str, far: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(xp: Any, a: Any, b: Any) -> set[str]:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            repr(PRODUCTS[name](xp, a, b))
        return {str(w.message) for w in seen}

    monkeypatch.setattr(einstein, "LEAST_BYTES", 0)
    expected = told(np, INFINITE, EMPTY)
    if far:
        with spread_out(3.0, 2.0):
            assert told(dnumpy, on_nodes(INFINITE), on_nodes(EMPTY)) == expected
    else:
        assert told(dnumpy, dnumpy.array(INFINITE), dnumpy.array(EMPTY)) == expected


@pytest.mark.parametrize("ufunc", ["add", "maximum", "less", "clip"])
def test_a_number_too_large_for_arrays_on_nodes_overflows_in_its_cast(ufunc: str) -> None:
    def told(xp: Any, given: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            np.asarray(getattr(xp, ufunc)(given, *([0] if ufunc == "clip" else []), 1e300))
        return [str(w.message) for w in seen]

    values = (np.arange(120) % 7).astype("f4")
    expected = told(np, values)
    assert expected == ["overflow encountered in cast"]
    with spread_out(3.0, 2.0):
        assert told(dnumpy, on_nodes(values)) == expected


_NUMBERS = np.arange(120)
INTO: dict[str, tuple[str, Any, Any]] = {
    "complex numbers": ("maximum", 2j, float),
    "complex sums": ("add", 2j, float),
    "an infinity": ("add", np.inf, int),
    "an infinity and NaN": ("multiply", np.inf, int),
    "quotients": ("divide", 0, int),
    "less precision": ("add", 1e300, "f4"),
}


@pytest.mark.parametrize("far", [False, True], ids=["here", "nodes"])
@pytest.mark.parametrize("case", INTO)
def test_casts_of_results_into_out_are_told_as_the_ufuncs(case: str, far: bool) -> None:
    name, other, dtype = INTO[case]

    def told(xp: Any, made: Any) -> set[str]:
        given, out = made(_NUMBERS.astype(float)), made(np.zeros(120, dtype))
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            getattr(xp, name)(given, other, out=out, casting="unsafe")
            np.asarray(out)
        return {f"{w.category.__name__}: {w.message}" for w in seen}

    expected = told(np, np.array)
    with spread_out(3.0, 2.0) if far else nullcontext():
        assert told(dnumpy, on_nodes if far else dnumpy.array) == expected


@pytest.mark.parametrize("size", [40, 300_000])
@pytest.mark.parametrize("name", ["var", "std", "nanvar"])
@pytest.mark.parametrize("unit", [1e200, 1e200j], ids=["real", "complex"])
def test_variances_overflow_under_numpys_names(unit: complex, name: str, size: int) -> None:
    values = np.tile([unit, -unit], size // 2)

    def told(xp: Any, given: Any) -> set[str]:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            float(getattr(xp, name)(given))
        return {str(w.message) for w in seen}

    assert told(dnumpy, dnumpy.array(values)) == told(np, values)


_OPERATIONS = {
    name: getattr(operator, name)
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "eq", "ge")
}


@pytest.mark.parametrize("name", _OPERATIONS)
@pytest.mark.parametrize("size", [40, 300_000])
@pytest.mark.parametrize(
    ("dtype", "number"),
    [("f4", 1e300), ("f2", 70_000), ("f2", 1e6), ("f4", 1e300j), ("f4", 10**60)],
)
def test_what_a_cast_is_told_of_comes_first_as_in_numpy(
    name: str, size: int, dtype: str, number: Any
) -> None:
    def told(xp: Any, *, reflected: bool) -> Any:
        x = xp.arange(size, dtype="f4").astype(dtype) if dtype == "f4" else xp.ones(size, dtype)
        given = (number, x) if reflected else (x, number)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            try:
                np.asarray(_OPERATIONS[name](*given))
            except TypeError:
                return TypeError
        return list(dict.fromkeys(str(w.message) for w in seen))

    for reflected in (False, True):
        assert told(dnumpy, reflected=reflected) == told(np, reflected=reflected)


@pytest.mark.parametrize("size", [40, 300_000])
def test_faults_of_one_operation_are_told_in_numpys_order(size: int) -> None:
    def told(xp: Any) -> list[str]:
        x, y = xp.full(size, 1e300), xp.full(size, 1e300)
        x[:3], y[:3] = (0, 1, np.inf), (0, 0, 0)
        y[3] = 1e-300
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            np.asarray(x / y)
            np.asarray(x * y)
        return [str(w.message) for w in seen]

    assert told(dnumpy) == told(np)
    assert len(told(np)) > 3
