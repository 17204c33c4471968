"""What type checkers are told: NumPy's stubs, with dnumpy's array in them."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import types
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy.api.stubs import stubs

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Path(dnumpy.__file__).parent
MADE_WITH = re.search(r"NumPy (\S+) by", (PACKAGE / "__init__.pyi").read_text())
pytestmark = pytest.mark.modeless("types are the checker's")
same_numpy = pytest.mark.skipif(
    MADE_WITH is None or MADE_WITH[1] != np.__version__,
    reason="the stubs in the repository are of another NumPy",
)


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return stubs()


@same_numpy
def test_the_files_are_what_the_generator_makes(made: dict[str, str]) -> None:
    there = {p.relative_to(PACKAGE).as_posix(): p.read_text() for p in PACKAGE.rglob("*.pyi")}
    assert len(made) > 100
    assert set(there) == set(made), "run `python -m dnumpy.api.stubs`"
    for path, text in made.items():
        assert there[path] == text, f"{path}: run `python -m dnumpy.api.stubs`"


def test_every_file_is_python(made: dict[str, str]) -> None:
    for path, text in made.items():
        assert isinstance(ast.parse(text, path), ast.Module)


def names_told(text: str) -> set[str]:
    """Return the names that a file of stubs defines or imports."""
    told = set()
    for node in ast.parse(text).body:
        match node:
            case ast.ClassDef() | ast.FunctionDef():
                told.add(node.name)
            case ast.ImportFrom() | ast.Import():
                told |= {a.asname or a.name for a in node.names}
            case ast.AnnAssign(target=ast.Name(id=name)):
                told.add(name)
            case ast.Assign():
                told |= {t.id for t in node.targets if isinstance(t, ast.Name)}
            case _:
                pass
    return told


def test_every_public_name_is_told(made: dict[str, str]) -> None:
    told = names_told(made["__init__.pyi"])
    own = {"explain", "report", "config", "from_dask", "to_dask_array", "DnumpyError"}
    optional = {"float96", "complex192", "float128", "complex256"}  # as the platform has them
    theirs = names_told((Path(np.__file__).parent / "__init__.pyi").read_text())
    untold = set(np.__all__) - theirs  # deprecated ones that NumPy 2.2 leaves out
    assert len(untold) < 5
    assert set(np.__all__) - told <= optional | untold
    assert own <= told
    assert len(set(np.__all__) & told) > 450


def test_no_signature_names_numpys_own_array(made: dict[str, str]) -> None:
    for path, text in made.items():
        if path.startswith("_typed/") or path == "__init__.pyi":
            assert "from numpy import NDArray" not in text
            assert not re.search(r"^import numpy as np$", text, re.MULTILINE), path
            for line in re.findall(r"^from numpy import (.*)$", text, re.MULTILINE):
                names = line.split(", ")
                assert "ndarray" not in names, path
                assert "ufunc" not in names, path


def test_the_package_says_that_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()


def test_ndarray_is_generic_over_shape_and_dtype_when_it_runs() -> None:
    alias = dnumpy.ndarray[tuple[int, ...], np.dtype[np.float64]]
    assert isinstance(alias, types.GenericAlias)
    assert typing.get_origin(alias) is dnumpy.ndarray
    assert typing.get_args(alias) == (tuple[int, ...], np.dtype[np.float64])
    for wrong in ((), (Any, Any, Any)):
        with pytest.raises(TypeError) as theirs:
            np.ndarray[wrong]
        with pytest.raises(TypeError) as ours:
            dnumpy.ndarray[wrong]
        assert str(ours.value) == str(theirs.value)

    def f(x: dnumpy.ndarray[Any, np.dtype[np.float64]]) -> dnumpy.ndarray:
        return x

    assert typing.get_origin(typing.get_type_hints(f, {"dnumpy": dnumpy, **globals()})["x"]) is (
        dnumpy.ndarray
    )


PROGRAM = """\
from typing import Any, assert_type

import dnumpy as np
import dnumpy.lib.stride_tricks
import dnumpy.ma.core
import dnumpy.typing as npt
from dnumpy.lib.stride_tricks import sliding_window_view
from dnumpy.linalg import LinAlgError
from dnumpy.polynomial.polynomial import polyval


def scaled(x: npt.NDArray[np.float64], k: float) -> npt.NDArray[np.float64]:
    x[1:] += 1
    x *= 2
    return x * k - 1 / x


def total(x: npt.ArrayLike) -> Any:
    return np.sum(np.asarray(x) ** 2)


a = np.zeros((3, 4))
assert_type(a, np.ndarray[tuple[int, int], np.dtype[np.float64]])
assert_type(a + 1, np.ndarray[tuple[int, int], np.dtype[np.float64]])
assert_type(a[a > 0], npt.NDArray[np.float64])
assert_type(np.fft.fft(a), npt.NDArray[np.complex128])
assert_type(np.random.default_rng(1).normal(size=3), npt.NDArray[np.float64])
assert_type(np.concatenate((a, a)), npt.NDArray[np.float64])
b: np.ndarray = np.linalg.inv(a @ a.T)
c: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = np.linspace(0, 1, 5)
d: npt.NDArray[np.float64] = scaled(c, 2.0)
total(d)
total([1, 2.5])
np.dot(a, [1, 2, 3, 4])
np.exp(a, out=a)
np.where(a > 0, a, 0.0).mean(axis=0)
n: int = a.shape[0]
s: np.float64 = np.sum(a)
np.add.reduce(a, axis=1)
with np.errstate(divide="ignore"), np.printoptions(precision=3):
    print(1 / a)
np.explain(a)
assert_type(sliding_window_view(a, 3), npt.NDArray[np.float64])
polyval(a, [1, 2])
try:
    dnumpy.lib.stride_tricks.as_strided(a, (2, 2))
except LinAlgError:
    pass
"""

# errors within an installed package are not reported; here it lies beside the program
CONFIG = "[mypy]\n[mypy-dnumpy.*]\nignore_errors = true\n[mypy-dnumpy]\nignore_errors = true\n"

REVEALED = (
    "a", "a + 1", "1 + a", "a[0]", "a[a > 0]", "a[1:, ::2]", "a.sum()", "a.sum(axis=0)", "a.T",
    "a @ a.T", "np.sum(a)", "np.mean(a, axis=0)", "np.exp(a)", "np.add.outer(a, a)", "np.sort(a)",
    "np.concatenate((a, a))", "np.stack([a, a])", "np.array([1, 2])", "np.asarray(a)",
    "np.arange(3)", "np.ones(3, np.int32)", "np.where(a > 0)", "np.unique(a, return_counts=True)",
    "np.linalg.svd(a).S", "np.linalg.eigh(a)[1]",
    "np.linalg.norm(a)", "np.linalg.inv(a)", "np.linalg.svd(a)", "np.linalg.qr(a)", "np.fft.fft(a)",
    "np.random.default_rng(1)", "np.random.default_rng(1).normal(size=3)", "np.random.rand(3)",
    "np.float64(3) * a", "a.astype(np.int8)", "a.reshape(4, 3)", "a.shape", "a.dtype", "a.flat",
    "np.add", "np.ufunc", "np.float32", "np.pi", "np.matrix([[1]])", "np.histogram(a)",
    "np.interp(a, a, a)", "np.polynomial.polynomial.polyval(a, [1, 2])", "np.einsum('ij->i', a)",
    "a.tolist()", "a.view(np.int64)", "np.broadcast_to(a, (2, 3, 4))", "np.r_[a, a]",
    "np.char.upper(['a'])", "np.lib.stride_tricks.sliding_window_view(a, 2)", "np.nditer(a)",
)  # fmt: skip

WRONG = {
    "np.zeros(3).no_such_method()": "attr-defined",
    "np.no_such_function(3)": "attr-defined",
    "x: str = np.zeros(3)": "assignment",
    "np.linspace('a', 'b')": "call-overload",
    "np.random.default_rng(1).normal(sizes=3)": "call-overload",
    "np.linalg.solve(np.eye(2))": "call-overload",
}


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[int, str]]:
    pytest.importorskip("mypy")
    folder = tmp_path_factory.mktemp("typed")

    def check(text: str) -> tuple[int, str]:
        file = folder / "program.py"
        file.write_text(text)
        (folder / "mypy.ini").write_text(CONFIG)
        options = ["--strict", "--config-file=mypy.ini", "--cache-dir=cache"]
        ran = subprocess.run(
            [sys.executable, "-m", "mypy", *options, file.name],
            cwd=folder,
            env={"MYPYPATH": str(PACKAGE.parent)},
            capture_output=True,
            text=True,
            check=False,
        )
        return ran.returncode, ran.stdout + ran.stderr

    return check


def test_a_typed_program_is_accepted_and_each_wrong_use_reported(
    checked: Callable[[str], tuple[int, str]],
) -> None:
    status, said = checked(PROGRAM)
    assert (status, said.splitlines()[-1]) == (0, "Success: no issues found in 1 source file")
    status, said = checked("import dnumpy as np\n" + "\n".join(WRONG))
    assert status == 1
    for line, (wrong, code) in enumerate(WRONG.items(), start=2):
        assert re.search(rf"^program\.py:{line}: error: .*\[{code}\]$", said, re.MULTILINE), wrong


@same_numpy
def test_types_are_numpys_with_our_array_in_the_place_of_numpys(
    checked: Callable[[str], tuple[int, str]],
) -> None:
    lines = ["a = np.zeros((3, 4))", *(f"reveal_type({x})" for x in REVEALED)]

    def revealed(module: str) -> list[str]:
        _, said = checked("\n".join([f"import {module} as np", *lines]))
        assert "error" not in said
        return re.findall(r'Revealed type is "(.*)"', said)

    found, expected = revealed("dnumpy"), revealed("numpy")
    assert len(found) == len(expected) == len(REVEALED)
    ours = re.compile(r"\bdnumpy\.(_typed\.)?")
    assert [ours.sub("numpy.", t) for t in found] == expected
    arrays = [t for t in found if t.startswith("dnumpy.ndarray[")]
    assert len(arrays) > 25
    assert [t for t in found if "numpy.ndarray[" in ours.sub("ours.", t)] == []
