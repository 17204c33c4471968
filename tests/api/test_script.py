from __future__ import annotations

import ast
import os
import re
import signal
import subprocess
import sys
import textwrap
from importlib.machinery import PathFinder
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dnumpy.api import script

ROOT = Path(__file__).parents[2]

# Stands in for the swapped module: NumPy's functions, under another name and with a mark.
STAND_IN = """
import sys
import numpy
from numpy import *
from numpy import linalg, random, fft
mark = "stand-in"
sys.modules[__name__ + ".linalg"] = linalg
sys.modules[__name__ + ".random"] = random
def __getattr__(name):
    return getattr(numpy, name)
"""
RUNNER = "import sys; from dnumpy.api.script import run_script as run; run({!r}, {!r}, 'standin')"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return an empty folder for scripts; the stand-in is importable from elsewhere."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "standin.py").write_text(STAND_IN)
    (tmp_path / "own").mkdir()
    return tmp_path / "own"


def write(path: Path, source: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(source))
    return path


def run_plain(path: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return _run([sys.executable, str(path), *args], path)


def run_swapped(path: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return _run([sys.executable, "-c", RUNNER.format(str(path), list(args)), *args], path)


def _run(command: list[str], path: Path) -> subprocess.CompletedProcess[str]:
    elsewhere = path.parents[1] / "elsewhere"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(elsewhere)])}
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=environ, cwd=path.parent
    )


def swapped_namespace(statements: str) -> dict[str, object]:
    """Return what the statements bind when ``os`` takes the place of NumPy."""
    namespace: dict[str, object] = {}
    exec(script.compile_swapped(statements.encode(), "<test>", "os"), namespace)
    return namespace


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("import numpy", {"numpy": os}),
        ("import numpy as np", {"np": os}),
        ("import numpy.path", {"numpy": os}),
        ("import numpy.path as where", {"where": os.path}),
        ("from numpy import path as where", {"where": os.path}),
        ("from numpy.path import join, split", {"join": os.path.join, "split": os.path.split}),
        ("import sys, numpy as np, numpy.path as p", {"sys": sys, "np": os, "p": os.path}),
        ("import numpyish_is_not_it as np", ModuleNotFoundError),
        ("import numpy.missing", ModuleNotFoundError),
        ("from numpy import missing", ImportError),
    ],
)
def test_an_import_statement_binds_the_same_names_to_the_other_module(
    statement: str, names: dict[str, object] | type[Exception]
) -> None:
    if isinstance(names, type):
        with pytest.raises(names):
            swapped_namespace(statement)
        return
    namespace = swapped_namespace(statement)
    namespace.pop("__builtins__")
    assert namespace == names


def test_star_import_takes_the_public_names_of_the_other_module() -> None:
    assert swapped_namespace("from numpy import *")["getcwd"] is os.getcwd


def test_every_statement_keeps_its_place() -> None:
    source = "x = 1\nif x:\n    import numpy.path, sys as s\nfrom numpy import path as p; y = 2\n"
    before = ast.parse(source)
    after = script.ImportSwap("os").visit(ast.parse(source))
    places = [
        [(type(n), n.lineno, n.col_offset, n.end_lineno, n.end_col_offset) for n in statements]
        for statements in (
            [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
            for tree in (before, after)
        )
    ]
    assert places[0] == places[1]
    assert len(places[0]) == 5


def test_a_declared_encoding_is_honoured() -> None:
    namespace: dict[str, object] = {}
    source = "# -*- coding: latin-1 -*-\ntext = 'é'\n".encode("latin-1")
    exec(script.compile_swapped(source, "<test>"), namespace)
    assert namespace["text"] == "é"


def test_the_script_sees_what_python_would_show_it(folder: Path) -> None:
    path = write(
        folder / "job.py",
        """
        '''Doc.'''
        import sys, pickle
        class Thing: pass
        print(__name__, __file__, __doc__, __package__, __spec__, sys.argv, sys.path[0])
        print(type(pickle.loads(pickle.dumps(Thing()))), sys.modules["__main__"].Thing is Thing)
        print(sorted(name for name in dir() if name != "__annotations__"))
        """,
    )
    plain, swapped = run_plain(path, "a", "-b"), run_swapped(path, "a", "-b")
    assert plain.stdout.startswith("__main__")
    assert (swapped.stdout, swapped.stderr) == (plain.stdout, plain.stderr)


def test_the_script_and_the_modules_beside_it_are_swapped_and_installed_ones_are_not(
    folder: Path,
) -> None:
    write(folder / "beside.py", "import numpy as np\nmark = getattr(np, 'mark', 'numpy')\n")
    write(folder / "pack" / "__init__.py", "from .inner import mark\n")
    write(folder / "pack" / "inner.py", "from numpy import mark\n")
    write(folder / "bare" / "leaf.py", "from numpy import mark\n")
    write(
        folder / "site-packages" / "outsider.py",
        "import numpy as np\nmark = getattr(np, 'mark', 'numpy')\n",
    )
    path = write(
        folder / "job.py",
        """
        import os, sys
        sys.path.append(os.path.join(os.path.dirname(__file__), "site-packages"))
        import numpy as np
        import beside, pack, bare.leaf, outsider
        import pandas, scipy.stats
        print(np.mark, beside.mark, pack.mark, bare.leaf.mark, outsider.mark)
        print(pandas.core.series.np is sys.modules["numpy"])
        print(float(scipy.stats.norm.cdf(np.asarray([0.0]))[0]), pandas.Series([1.0, 2.0]).sum())
        """,
    )
    done = run_swapped(path)
    assert done.stdout.split("\n")[:3] == [
        "stand-in stand-in stand-in stand-in numpy",
        "True",
        "0.5 3.0",
    ], done.stderr


def test_child_processes_find_what_the_script_defines(folder: Path) -> None:
    path = write(
        folder / "job.py",
        """
        import multiprocessing
        import numpy as np
        def double(x):
            return 2 * x
        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.map(double, [1, 2]), getattr(np, "mark", "numpy"))
        """,
    )
    assert run_plain(path).stdout == "[2, 4] numpy\n"
    assert run_swapped(path).stdout == "[2, 4] stand-in\n"


def test_no_bytecode_of_a_swapped_module_is_left_for_plain_python(folder: Path) -> None:
    write(folder / "beside.py", "import numpy as np\nmark = getattr(np, 'mark', 'numpy')\n")
    path = write(folder / "job.py", "import beside\nprint(beside.mark)\n")
    outputs = [run(path).stdout for run in (run_swapped, run_plain, run_swapped)]
    assert outputs == ["stand-in\n", "numpy\n", "stand-in\n"]


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np\n\n\ndef f(x):\n    return np.zeros(3) / x['a']\n\n\nf({})\n",
        "import beside\nbeside.f(0)\n",
        "x = (1,\n",
        "return 3\n",
        "import sys\nsys.exit(7)\n",
        "import sys\nsys.exit('a message')\n",
        "raise SystemExit\n",
        "import missing_module\n",
        "import atexit\natexit.register(print, 'last')\nraise ValueError('x') from KeyError('y')\n",
        "import sys\nsys.excepthook = lambda *a: print('own', a[0], a[2].tb_lineno)\n1 / 0\n",
    ],
)
def test_errors_and_exit_status_are_those_of_python(folder: Path, source: str) -> None:
    write(folder / "beside.py", "import numpy as np\n\n\ndef f(x):\n    return 1 / x\n")
    path = write(folder / "job.py", source)
    plain, swapped = run_plain(path), run_swapped(path)
    assert (swapped.returncode, swapped.stdout) == (plain.returncode, plain.stdout)
    assert swapped.stderr == plain.stderr


def test_an_interrupt_ends_the_process_as_python_does(folder: Path) -> None:
    source = (
        "import os, signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
    )
    path = write(folder / "job.py", source)
    plain, swapped = run_plain(path), run_swapped(path)
    assert plain.returncode == -signal.SIGINT
    assert swapped.returncode == plain.returncode


def test_only_files_of_the_folder_that_are_not_installed_are_owned(folder: Path) -> None:
    finder = script.ScriptFolderFinder(folder, "dnumpy")
    assert finder.owns(folder / "a.py")
    assert finder.owns(folder / "lib" / "a.py")
    assert not finder.owns(folder.parent / "a.py")
    assert not finder.owns(folder / "venv" / "lib" / "site-packages" / "a.py")
    top = script.ScriptFolderFinder(Path("/"), "dnumpy")
    assert not top.owns(Path(ast.__file__))


def test_the_finder_leaves_numpy_and_the_target_alone(folder: Path) -> None:
    finder = script.ScriptFolderFinder(Path("/"), "dnumpy")
    write(folder / "dnumpy.py", "")
    assert PathFinder.find_spec("dnumpy", [str(folder)]) is not None
    assert finder.find_spec("dnumpy", [str(folder)]) is None
    assert finder.find_spec("numpy.linalg") is None


@pytest.mark.parametrize("argv", [[], ["/no/such/file.py"], ["--no-such-option"]])
def test_a_command_line_without_sense_ends_with_status_two(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as error:
        script.main(argv)
    assert error.value.code == 2
    assert "usage: python -m dnumpy" in capsys.readouterr().err


def test_what_follows_the_script_belongs_to_the_script() -> None:
    options = script._parser().parse_args(["--report", "job.py", "--report", "--coverage", "x"])
    assert options.report
    assert not options.coverage
    assert (options.script, options.args) == ("job.py", ["--report", "--coverage", "x"])


REPORT = {
    "phases": [
        {
            "what": "add+mul[float64]",
            "where": "cpu-0",
            "seconds": 0.25,
            "predicted_seconds": 0.2,
            "bytes": 4_000_000,
            "count": 3,
        }
    ],
    "fallbacks": [{"name": "numpy.unwrap", "bytes": 80, "file": "job.py", "line": 12, "count": 2}],
    "seconds": 0.25,
    "numpy_seconds_predicted": 1.0,
}


def test_the_report_names_phases_fallbacks_with_their_line_and_the_time_saved(
    capsys: pytest.CaptureFixture[str],
) -> None:
    script.print_report(REPORT)
    shown = capsys.readouterr()
    assert shown.out == ""
    for part in ("add+mul[float64]", "250.00 ms", "4.0 MB", "numpy.unwrap", "job.py:12"):
        assert part in shown.err
    assert "saved 750.00 ms (4.0 times NumPy's speed)" in shown.err


def test_coverage_is_printed_with_the_totals_of_each_kind(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        ("add", "numpy", "primitive", ""),
        ("exp", "numpy", "primitive", ""),
        ("unwrap", "numpy", "fallback", "needs [all] of the axis"),
        ("solve", "numpy.linalg", "fallback", "LAPACK"),
        ("stack", "numpy", "composite", ""),
    ]
    coverage = SimpleNamespace(coverage_table=lambda: rows)
    monkeypatch.setitem(sys.modules, "dnumpy.api.coverage", coverage)
    script.main(["--coverage"])
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines[-4:] == [
        "primitive: 2 (40%)",
        "fallback: 2 (40%)",
        "composite: 1 (20%)",
        "total: 5",
    ]
    assert any(line.split()[:3] == ["solve", "numpy.linalg", "fallback"] for line in lines)
    assert any("needs [all] of the axis" in line for line in lines)


def test_coverage_lists_every_public_name_of_numpy(capsys: pytest.CaptureFixture[str]) -> None:
    script.main(["--coverage"])
    lines = capsys.readouterr().out.splitlines()
    listed = {tuple(line.split()[:2]) for line in lines if len(line.split()) > 2}
    assert {(name, "numpy") for name in np.__all__} <= listed


def test_the_command_swaps_numpy_for_dnumpy_and_reports_on_standard_error(folder: Path) -> None:
    path = write(
        folder / "job.py",
        """
        import numpy as np
        x = np.arange(1_000_000.0)
        print(*(vars(k)["__module__"] for k in (np.ndarray, type(x))), float(np.sin(x).sum() * 0))
        np.save("saved.npy", x)
        """,
    )
    done = _run([sys.executable, "-m", "dnumpy", "--report", str(path)], path)
    assert done.returncode == 0
    first, second, total = done.stdout.split()
    assert first.startswith("dnumpy")
    assert second.startswith("dnumpy")
    assert total == "0.0"
    assert (folder / "saved.npy").stat().st_size > 8_000_000
    assert "What ran" in done.stderr
    assert re.search(r"numpy.save.*job\.py:5", done.stderr)


def test_the_probe_shows_every_quantity_of_every_node_of_the_scheduler(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str | None] = []

    def probe_tables(scheduler: str | None) -> dict[str, list[dict[str, object]]]:
        asked.append(scheduler)
        nodes: list[dict[str, object]] = [
            {"node": "a", "copy GB/s": 12.3456},
            {"node": "b", "gemm GFLOP/s": 40.0},
        ]
        return {"Nodes": nodes, "Links": [{"from": "a", "to": "b"}]}

    probe = SimpleNamespace(probe_tables=probe_tables)
    monkeypatch.setitem(sys.modules, "dnumpy.runtime.probe", probe)
    script.main(["--probe", "--scheduler", "tcp://h:1"])
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert asked == ["tcp://h:1"]
    assert ["a", "12.35", "-"] in rows
    assert ["b", "-", "40"] in rows
    assert rows[rows.index(["Links"]) + 1 :] == [["from", "to"], ["a", "b"]]


@pytest.mark.parametrize(
    ("where", "shown"),
    [
        ("cpu-0", "cpu-0"),
        ((("local", 0),), "local"),
        ([("a", 120), ("b", 80)], "a 120, b 80"),
        (None, "-"),
    ],
)
def test_a_phase_names_its_nodes_and_the_rows_of_each(where: object, shown: str) -> None:
    assert script._where(where) == shown


@pytest.mark.parametrize("missing", sorted(REPORT))
def test_a_report_without_one_of_its_keys_is_still_printed(
    missing: str, capsys: pytest.CaptureFixture[str]
) -> None:
    script.print_report({key: value for key, value in REPORT.items() if key != missing})
    script.print_report({"phases": [{}], "fallbacks": [{}]})
    assert "What ran" in capsys.readouterr().err
