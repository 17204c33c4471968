"""What other packages compiled: what it is given, what it writes to, and what it leaves alone."""

from __future__ import annotations

import importlib.util
import inspect
import pickle
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.f2py
import pytest

import dnumpy
from dnumpy import native

if TYPE_CHECKING:
    from types import ModuleType

SIGNATURES = """
python module made_by_f2py
  interface
    subroutine doubled(n, x)
      intent(c) doubled
      intent(c)
      integer, intent(hide), depend(x) :: n = len(x)
      double precision, dimension(n), intent(in, out, copy) :: x
    end subroutine doubled
    subroutine written(n, x)
      intent(c) written
      intent(c)
      integer, intent(hide), depend(x) :: n = len(x)
      double precision, dimension(n), intent(inout) :: x
    end subroutine written
  end interface
end python module made_by_f2py
"""
FUNCTIONS = """
void doubled(int n, double *x) { for (int k = 0; k < n; k++) x[k] *= 2; }
void written(int n, double *x) { for (int k = 0; k < n; k++) x[k] = k; }
"""


def built(folder: Path, name: str, headers: list[Path], files: list[Path]) -> ModuleType:
    """Compile a module from files, and import it."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    target = folder / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    headers = [Path(sysconfig.get_path("include")), Path(np.get_include()), *headers]
    included = [f"-I{header}" for header in headers]
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-w", "-o", str(target), *included, *map(str, files)],
        check=True,
    )
    spec = importlib.util.spec_from_file_location(name, target)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    folder = tmp_path_factory.mktemp("f2py")
    signatures, functions = folder / "made_by_f2py.pyf", folder / "functions.c"
    signatures.write_text(SIGNATURES)
    functions.write_text(FUNCTIONS)
    numpy.f2py.run_main([str(signatures), "--build-dir", str(folder), "--quiet"])
    runtime = Path(numpy.f2py.__file__).parent / "src"
    files = [folder / "made_by_f2pymodule.c", runtime / "fortranobject.c", functions]
    return built(folder, "made_by_f2py", [runtime], files)


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """Return a module whose functions and classes take arrays of NumPy's class alone."""
    if not native.built:
        pytest.skip("such are taught by the module in C")
    folder = tmp_path_factory.mktemp("typed")
    return built(folder, "compiled_module", [], [Path(__file__).with_name("compiled_module.c")])


@pytest.mark.parametrize("count", [3, 300_000])
@pytest.mark.parametrize("pending", [False, True])
def test_what_is_to_be_copied_is_left_alone(made: Any, count: int, pending: bool) -> None:
    x = dnumpy.arange(float(count)) + 1 if pending else dnumpy.array(np.arange(1.0, count + 1))
    found = made.doubled(x)
    assert np.array_equal(found, np.arange(1.0, count + 1) * 2)
    assert np.array_equal(np.asarray(x), np.arange(1.0, count + 1))


@pytest.mark.parametrize("count", [3, 300_000])
def test_what_is_to_be_written_to_is_written_to(made: Any, count: int) -> None:
    x = dnumpy.ones(count) * 3
    view = x[: count // 2]
    made.written(x)
    assert np.array_equal(np.asarray(x), np.arange(float(count)))
    assert np.array_equal(np.asarray(view), np.arange(float(count // 2)))
    with pytest.raises(ValueError, match="intent"):
        made.written(x[::2])


def test_functions_are_shown_as_f2py_shows_them(made: Any) -> None:
    assert "doubled(x," in made.doubled.__doc__
    assert repr(made.doubled).startswith("<fortran")
    made.doubled.told = dnumpy.ones(2)
    assert type(made.doubled.told) is np.ndarray
    with pytest.raises(AttributeError):
        made.doubled.not_there  # noqa: B018


def test_a_module_imported_before_is_taught_too(made: Any) -> None:
    script = (
        "import importlib.util as found, sys\n"
        "spec = found.spec_from_file_location('made_by_f2py', sys.argv[1])\n"
        "made = sys.modules['made_by_f2py'] = found.module_from_spec(spec)\n"
        "spec.loader.exec_module(made)\n"
        "import dnumpy\n"
        "x = dnumpy.ones(3)\n"
        "print(made.doubled(x).sum(), x.sum())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, made.__file__], capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == ["6.0", "3.0"]


@pytest.mark.parametrize("count", [3, 300_000])
@pytest.mark.parametrize("pending", [False, True])
def test_functions_are_given_numpys_arrays(typed: Any, count: int, pending: bool) -> None:
    x = dnumpy.arange(float(count)) + 1 if pending else dnumpy.array(np.arange(1.0, count + 1))
    assert typed.total(x) == typed.total(array=x) == count * (count + 1) / 2
    assert typed.count_arrays([x, 1, x]) == typed.count_arrays((x, x)) == 2
    assert typed.count_arrays({"a": x, "b": None}) == 1
    assert typed.count_all(*[x, 1] * 12, named=x) == 13
    with pytest.raises(TypeError, match=r"argument 1 must be numpy\.ndarray"):
        typed.total([1.0])


@pytest.mark.parametrize("count", [3, 300_000])
def test_what_is_given_back_is_what_was_given(typed: Any, count: int) -> None:
    x, y = dnumpy.zeros(count), dnumpy.arange(float(count)) * 2
    assert typed.filled(x, 7) is x
    assert typed.filled(x[1:], 5) is not x
    assert np.array_equal(np.asarray(x), [7, *[5] * (count - 1)])
    first, second = typed.swapped(x, y)
    assert first is y
    assert second is x
    numpys = np.zeros(count)
    assert typed.filled(numpys, 1) is numpys


@pytest.mark.parametrize("kind", ["Box", "Named", "HeapBox"])
def test_classes_are_given_numpys_arrays(typed: Any, kind: str) -> None:
    box_type = getattr(typed, kind)
    x = dnumpy.arange(4.0)
    box = box_type(x)
    assert np.array_equal(box_type(array=x).add(x), [0, 2, 4, 6])
    assert np.array_equal(box(x), [0, 2, 4, 6])
    assert np.array_equal(box[dnumpy.array([1, 3])], [1, 3])
    box[dnumpy.array([0, 1])] = dnumpy.array([8.0, 9.0])
    assert np.array_equal(np.asarray(x), [8, 9, 2, 3])  # the memory is the same
    assert box_type.of(x)
    assert box.of(x)
    assert not box_type.of([1])
    with pytest.raises(TypeError, match=r"must be numpy\.ndarray"):
        box.add([1.0])
    with pytest.raises(TypeError, match="expected an array"):
        del box[0]


@pytest.mark.parametrize("kind", ["Box", "Named", "HeapBox"])
def test_a_program_may_derive_from_such_classes(typed: Any, kind: str) -> None:
    class Own(getattr(typed, kind)):  # type: ignore[misc]
        def __init__(self, array: Any, name: str) -> None:
            super().__init__(array)
            self.name = name

        def add(self, array: Any) -> Any:
            return super().add(array) + 1

    class Plain(getattr(typed, kind)):  # type: ignore[misc]
        pass

    class Both(typed.Mark, getattr(typed, kind)):  # type: ignore[misc]
        def __init__(self, array: Any) -> None:
            typed.Mark.__init__(self)
            getattr(typed, kind).__init__(self, array)

    x = dnumpy.arange(3.0)
    assert np.array_equal(Both(x).add(x), [0, 2, 4])
    own = Own(x, "own")
    assert np.array_equal(own.add(x), [1, 3, 5])
    assert np.array_equal(own[dnumpy.array([2])], [2])
    assert np.array_equal(Plain(x).add(x), [0, 2, 4])


def test_functions_are_shown_as_they_are(typed: Any) -> None:
    assert repr(typed.total).startswith("<built-in function total>")
    assert isinstance(typed.total, type(len))
    assert inspect.isbuiltin(typed.total)
    assert typed.total.__name__ == "total"
    assert typed.total.__doc__ == "Add all."
    assert str(inspect.signature(typed.total)) == "(array)"
    assert pickle.loads(pickle.dumps(typed.total)) is typed.total
    assert inspect.ismethoddescriptor(typed.Box.add)
    assert str(inspect.signature(typed.Box.add)) == "(self, /, array)"

    class Holding:
        total = typed.total  # no method, as none of what is built in

    assert Holding().total(np.ones(3)) == 3


def test_streams_are_numpys_to_what_is_compiled(typed: Any) -> None:
    del typed
    compiled = pytest.importorskip("scipy.linalg.interpolative")
    a = dnumpy.array(np.vander(np.linspace(0, 1, 12), 6))
    rank = compiled.estimate_rank(a, 1e-3, rng=dnumpy.random.default_rng(1))
    assert rank == compiled.estimate_rank(np.asarray(a), 1e-3, rng=np.random.default_rng(1))


@pytest.mark.parametrize("kept", ["made", "[made]", "{0: made}", "types.SimpleNamespace(f=made)"])
def test_what_was_kept_before_is_taught_too(typed: Any, kept: str) -> None:
    script = f"""
import importlib.util as found, sys, types
spec = found.spec_from_file_location("compiled_module", sys.argv[1])
module = sys.modules["compiled_module"] = found.module_from_spec(spec)
spec.loader.exec_module(module)
made = module.total
class Own(module.Box):
    def __new__(cls, array):
        return module.Box.__new__(cls, array)
keeper = sys.modules["compiled_module.keeper"] = types.ModuleType("compiled_module.keeper")
keeper.kept = {kept}
import dnumpy
kept = keeper.kept
kept = getattr(kept, "f", kept)
kept = kept[0] if isinstance(kept, list | dict) else kept
own = Own(dnumpy.ones(3))
print(kept(dnumpy.ones(3)), own.add(dnumpy.ones(3)).sum())
"""
    ran = subprocess.run(
        [sys.executable, "-c", script, typed.__file__], capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == ["3.0", "6.0"]


PLAIN = """
#include <Python.h>
static PyObject *
kind_of(PyObject *module, PyObject *x) { return Py_NewRef((PyObject *)Py_TYPE(x)); }
typedef struct { PyObject_HEAD PyObject *kept; } Keeper;
static int
keep(PyObject *self, PyObject *args, PyObject *kwargs)
{ return PyArg_ParseTuple(args, "O", &((Keeper *)self)->kept) ? 0 : -1; }
static PyObject *
kept(PyObject *self, PyObject *none) { return Py_NewRef(((Keeper *)self)->kept); }
static PyMethodDef methods[] = {{"kept", kept, METH_NOARGS, ""}, {NULL}};
static PyTypeObject Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "plain_module.Keeper", .tp_basicsize = sizeof(Keeper),
    .tp_flags = Py_TPFLAGS_DEFAULT, .tp_new = PyType_GenericNew, .tp_init = keep,
    .tp_methods = methods};
static PyMethodDef functions[] = {{"kind_of", kind_of, METH_O, ""}, {NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "plain_module", .m_size = -1, .m_methods = functions};
PyMODINIT_FUNC
PyInit_plain_module(void)
{
    PyObject *module = PyModule_Create(&definition);
    return module == NULL || PyModule_AddType(module, &Type) < 0 ? NULL : module;
}
"""


def test_what_does_not_know_numpy_is_given_ours(tmp_path: Path) -> None:
    source = tmp_path / "plain_module.c"
    source.write_text(PLAIN)
    plain: Any = built(tmp_path, "plain_module", [], [source])
    x = dnumpy.arange(3)
    assert plain.kind_of(x) is dnumpy.ndarray
    assert plain.Keeper(x).kept() is x


def test_a_module_whose_file_is_gone_takes_what_numpys_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "compiled_module", None)  # the other one comes back after it
    source = Path(__file__).with_name("compiled_module.c")
    moved: Any = built(tmp_path, "compiled_module", [], [source])
    Path(moved.__file__).unlink()
    if native.built:
        assert moved.total(dnumpy.ones(3)) == 3


@pytest.mark.skipif(not native.built, reason="such are taught by the module in C")
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("made", [np.random.RandomState, np.random.default_rng])
@pytest.mark.parametrize("shape", [(40,), (20, 2), (5, 3, 2), (20_000, 8)])
def test_numpys_own_streams_shuffle_ours(made: Any, shape: tuple[int, ...]) -> None:
    ours, numpys = (xp.arange(np.prod(shape)).reshape(shape) for xp in (dnumpy, np))
    made(3).shuffle(ours)
    made(3).shuffle(numpys)
    assert np.array_equal(np.asarray(ours), numpys)


@pytest.mark.skipif(not native.built, reason="such are taught by the module in C")
def test_numpys_own_streams_fill_ours_and_are_seeded_by_them() -> None:
    filled = dnumpy.zeros(5)
    assert np.random.default_rng(3).random(out=filled) is filled
    assert np.array_equal(np.asarray(filled), np.random.default_rng(3).random(5))
    seeded = np.random.default_rng(dnumpy.array([1, 2]))
    assert seeded.random() == np.random.default_rng([1, 2]).random()
    ours, numpys = dnumpy.arange(30).reshape(10, 3), np.arange(30).reshape(10, 3)
    for x in (ours, numpys):
        np.random.seed(3)
        np.random.shuffle(x)
    assert np.array_equal(np.asarray(ours), numpys)


@pytest.mark.skipif(not native.built, reason="such are taught by the module in C")
def test_methods_of_numpys_arrays_take_ours_for_its_own() -> None:
    x = np.arange(12.0).reshape(3, 4)
    assert np.array_equal(x.compress(dnumpy.array([0, 1, 2]), axis=0), x[1:])
    assert type(x.view(dnumpy.ndarray)) is np.ndarray
    assert type(x.view(type=dnumpy.ndarray)) is np.ndarray
    assert x.view(np.int64).dtype == np.int64
    with pytest.raises(TypeError, match="required"):
        x.compress()
