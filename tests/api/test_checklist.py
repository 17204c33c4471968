"""The first week after swapping the import: one test per row of the checklist of what programs do.

Rows are numbered A1 to I88. Each program runs with NumPy and with dnumpy, and answers must be the
same: values, dtypes, shapes, types of exceptions and their text.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dnumpy
from tests import rows_of_arrays, rows_of_mathematics
from tests.comparison import assert_as_numpy
from tests.gathering import on_nodes, spread_out
from tests.rows_of_arrays import floats, whole

pytestmark = [
    pytest.mark.usefixtures("managed"),
    pytest.mark.filterwarnings("ignore:.*gathers:dnumpy.errors.FallbackWarning"),
]


PROGRAMS = {
    **rows_of_arrays.A_TYPES,
    **rows_of_arrays.B_CREATION,
    **rows_of_arrays.C_INDEXING,
    **rows_of_arrays.D_UFUNCS,
    **rows_of_mathematics.E_STATISTICS,
    **rows_of_mathematics.F_SHAPES,
    **rows_of_mathematics.G_LINALG,
    **rows_of_mathematics.H_PROTOCOLS,
}


@pytest.mark.parametrize("row", sorted(PROGRAMS))
def test_a_row_answers_as_numpy(row: int) -> None:
    PROGRAMS[row](np)  # raises nothing, or there would be nothing to compare
    assert_as_numpy(PROGRAMS[row])


def test_row_2_every_name_resolves() -> None:
    missing = [n for n in dir(np) if not n.startswith("_") and not hasattr(dnumpy, n)]
    assert missing == []


def test_row_15_files_round_trip(tmp_path: Path) -> None:
    def program(xp: Any) -> Any:
        xp.save(tmp_path / "a.npy", floats(xp))
        xp.savez(tmp_path / "b.npz", one=whole(xp), two=floats(xp))
        text = io.StringIO()
        xp.savetxt(text, whole(xp), fmt="%d")
        text.seek(0)
        mapped = xp.memmap(tmp_path / "c.bin", "f8", "w+", shape=(3,))
        mapped[:] = 4
        return [
            xp.load(tmp_path / "a.npy"), xp.load(tmp_path / "b.npz")["one"], xp.loadtxt(text),
            xp.genfromtxt(io.StringIO("1,2\n3,4"), delimiter=","), np.asarray(mapped),
        ]  # fmt: skip

    assert_as_numpy(program)


UFUNCS = sorted(n for n, f in vars(np).items() if isinstance(f, np.ufunc) and f.signature is None)


@pytest.mark.parametrize("name", UFUNCS)
def test_row_36_every_ufunc_equals_numpys(name: str) -> None:
    wrapped = getattr(np, name)
    inputs = next(
        t for t in (*[t for t in wrapped.types if "d" in t], *wrapped.types) if "O" not in t[:2]
    ).partition("->")[0]

    def program(xp: Any) -> Any:
        given = [
            xp.array([1, 2, 3, 1, 2, 3, 1, 2, 3]).astype(c if c not in "mM" else f"{c}8[s]")
            for c in inputs
        ]
        return list(r) if type(r := getattr(xp, name)(*given)) is tuple else [r]

    if {"U", "T", "S"} & set(inputs):
        pytest.skip("a ufunc of strings; row 45")
    assert_as_numpy(program)


def test_row_53_sums_are_accurate_and_the_same_bits_on_any_nodes() -> None:
    values = np.random.default_rng(5).standard_normal(5000) * 10.0 ** np.arange(5000).__mod__(9)
    found = set()
    for speeds in ((1.0,), (5.0, 3.0, 2.0), (1.0, 7.0)):
        with spread_out(*speeds):
            found.add(float(on_nodes(values).sum()))
    (total,) = found
    exact = sum(map(int, (values * 2.0**60).tolist())) / 2.0**60
    assert abs(total - exact) <= abs(float(values.sum()) - exact) + 1e-16 * np.abs(values).sum()


@pytest.mark.parametrize("package", ["scipy", "sklearn", "pandas", "matplotlib", "h5py"])
def test_row_73_other_packages_take_our_arrays(package: str) -> None:
    module = pytest.importorskip(package)
    a = floats(dnumpy)
    if package == "pandas":
        assert module.DataFrame(a).sum().sum() == pytest.approx(float(np.asarray(a).sum()))
    elif package == "scipy":
        from scipy import special

        np.testing.assert_array_equal(special.erf(a), special.erf(np.asarray(a)))
    elif package == "sklearn":
        from sklearn.linear_model import LinearRegression

        assert LinearRegression().fit(a, np.asarray(a)[:, 0]).coef_.shape == (6,)
    elif package == "matplotlib":
        from matplotlib.figure import Figure

        (line,) = Figure().subplots().plot(a[0])
        assert line.get_ydata().shape == (6,)
    else:
        with module.File("x", "w", driver="core", backing_store=False) as file:
            file["a"] = a
            np.testing.assert_array_equal(file["a"][...], np.asarray(a))


def test_row_74_dask_takes_our_arrays() -> None:
    import dask.array as da

    lazily = da.from_array(np.asarray(floats(dnumpy)), chunks=2)
    np.testing.assert_array_equal((lazily + 1).compute(), np.asarray(floats(dnumpy) + 1))


def test_row_75_a_fallback_is_announced_in_one_line() -> None:
    with spread_out(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dnumpy.api.dispatch._warned.clear()
        dnumpy.array2string(on_nodes(np.arange(9.0)))
    texts = [str(w.message) for w in caught]
    assert len([t for t in texts if "array2string" in t and "\n" not in t]) <= 1


def test_row_76_control_flow_on_data_works() -> None:
    def program(xp: Any) -> Any:
        x, steps = xp.full(9, 100.0), 0
        while (x > 1).any():
            x = xp.where(x > 1, x / 2, x)
            steps += 1
            if x.max() < 2 and steps > 3:
                break
        return [steps, x]

    assert_as_numpy(program)


def test_row_77_a_value_is_computed_once() -> None:
    from dnumpy import engine

    a = dnumpy.arange(300_000.0) * 2
    first = float(a.sum())
    engine.history.clear()
    assert float(a.sum()) == first
    assert len(engine.history) <= 1  # the second sum alone


def test_row_78_elementwise_chains_are_one_stage() -> None:
    x = dnumpy.arange(400_000.0)
    assert len(dnumpy.explain(dnumpy.sqrt(x * x + 1) - x).stages) == 1


def test_row_79_small_arrays_do_not_enter_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    from dnumpy import engine
    from dnumpy.config import config

    monkeypatch.setattr(config, "eager_below", 1000)
    engine.history.clear()
    a = dnumpy.arange(10.0)
    assert float((a * 2 + 1).sum()) == 100.0
    assert not engine.history


def test_row_82_rows_follow_speed() -> None:
    with spread_out(6.0, 1.0):
        value = on_nodes(np.arange(700.0))._buf.expr.value
        rows = dict(value.rows_per_node())
    assert rows["node-0"] > 4 * rows["node-1"]


def test_row_83_a_gather_beyond_memory_is_refused_before_it_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from dnumpy.config import config
    from dnumpy.errors import GatherTooLarge

    with spread_out():
        a = on_nodes(np.arange(1000.0))
        with monkeypatch.context() as narrow:
            narrow.setattr(config, "memory_limit", 4000)
            with pytest.raises(GatherTooLarge, match="memory_limit"):
                np.asarray(a)
        assert float(a.sum()) == 499500.0


def test_row_84_a_plain_script_needs_no_launcher(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text("import dnumpy as np\nprint(float((np.arange(400_000.0) * 2).sum()))\n")
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(dnumpy.__file__).parent.parent)},
    )
    assert float(done.stdout) == 400_000 * 399_999


def test_row_87_what_ran_is_told() -> None:
    x = dnumpy.arange(400_000.0)
    y = dnumpy.sqrt(x + 1)
    assert dnumpy.explain(y).predicted_seconds >= 0
    float(y.sum())
    assert dnumpy.explain(y).stages[0]["measured_seconds"] >= 0


def test_row_88_the_coverage_table_names_every_function() -> None:
    from dnumpy.api.coverage import coverage_table

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [r for r in coverage_table() if r[1] in ("numpy", "numpy.linalg", "numpy.fft")]
    native = [r for r in rows if r[2] in ("primitive", "composite")]
    functions = [r for r in rows if r[2] in ("primitive", "composite", "fallback")]
    assert len(native) >= 0.75 * len(functions)
