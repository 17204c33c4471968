"""Functions that f2py made: what they are given, what they write to, and what they leave alone."""

from __future__ import annotations

import importlib.util
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


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("f2py")
    signatures, functions = folder / "made_by_f2py.pyf", folder / "functions.c"
    signatures.write_text(SIGNATURES)
    functions.write_text(FUNCTIONS)
    numpy.f2py.run_main([str(signatures), "--build-dir", str(folder), "--quiet"])
    runtime = Path(numpy.f2py.__file__).parent / "src"
    name = folder / f"made_by_f2py{sysconfig.get_config_var('EXT_SUFFIX')}"
    headers = (sysconfig.get_path("include"), np.get_include(), runtime)
    included = [f"-I{header}" for header in headers]
    files = [folder / "made_by_f2pymodule.c", runtime / "fortranobject.c", functions]
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-w", "-o", str(name), *included, *map(str, files)],
        check=True,
    )
    spec = importlib.util.spec_from_file_location("made_by_f2py", name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
