from __future__ import annotations

import copy
import gc
import inspect
import os
import pickle
import shutil
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy
import pytest

import dnumpy as np
from dnumpy import native
from dnumpy.config import config
from dnumpy.native import build
from tests.native.statements import statements

SCRIPT = Path(__file__).with_name("statements.py")
needs_native = pytest.mark.skipif(
    not native.built, reason="the module in C was not built or is switched off"
)
in_one_mode = pytest.mark.skipif(config.mode != "default", reason="runs in processes of its own")


def told_by(module: str, **environ: str) -> list[Any]:
    env = {**os.environ, "DNUMPY_MODE": "default", **environ}
    command = [sys.executable, str(SCRIPT), module]
    done = subprocess.run(command, check=True, capture_output=True, env=env, cwd=SCRIPT.parents[2])
    found: list[Any] = pickle.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def numpys() -> list[Any]:
    return told_by("numpy")


def differing(ours: list[Any], theirs: list[Any]) -> list[Any]:
    return [x for x in zip(statements(), ours, theirs, strict=True) if x[1] != x[2]]


@needs_native
@in_one_mode
def test_statements_give_what_numpy_gives_and_warn_at_the_same_line(numpys: list[Any]) -> None:
    assert len(numpys) > 3_000
    assert differing(told_by("dnumpy", DNUMPY_NATIVE="auto"), numpys) == []


@in_one_mode
def test_statements_give_the_same_without_the_module(numpys: list[Any]) -> None:
    def without_files(told: list[Any]) -> list[Any]:
        return [(found, [heard[:2] for heard in warnings]) for found, warnings in told]

    ours = told_by("dnumpy", DNUMPY_NATIVE="off")
    assert differing(without_files(ours), without_files(numpys)) == []


def frames_of_ours(statement: str) -> list[str]:
    found: list[str] = []
    names = {"np": np, "a": np.array([1.0, 2.0]), "h": numpy.float64(1.5), "n": numpy.int64(2)}
    code = compile(statement, "statement", "exec")
    exec(code, names)  # what is made at the first call

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and f"{os.sep}dnumpy{os.sep}" in frame.f_code.co_filename:
            found.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        exec(code, names)
    finally:
        sys.setprofile(None)
    return found


@needs_native
@in_one_mode
@pytest.mark.parametrize(
    "statement",
    [
        "np.where(a > h, h, n)", "np.clip(a, h, n)", "np.append(a, h)", "np.sum([h, h])",
        "np.array(h)", "np.asarray(2.0)", "np.full(n, h)", "np.zeros((n, 3))", "np.arange(n)",
        "np.arange(0.0, h, 0.1)", "np.zeros(3, dtype=a.dtype)", "np.random.randint(n)",
        "np.random.normal(h, h)", "np.searchsorted(a, h)",
    ],
)  # fmt: skip
def test_scalars_of_numpys_need_nothing_in_python(statement: str) -> None:
    assert frames_of_ours(statement) == []


def work(a: Any) -> None:
    b = a + a
    view = b[1:]
    b += 1
    b[0] = 2
    for wrong in (lambda: b @ np.zeros(4), lambda: b[9], lambda: b + "x", lambda: np.zeros(-1)):
        with pytest.raises((ValueError, IndexError, TypeError)):
            wrong()
    made = [
        view.T, np.sin(b), np.zeros(3), b.sum(), np.where(b > 1, b, a), b.nonzero(), 2 * b, b**2,
        np.concatenate((a, b)), b.reshape(3, 1), divmod(a, b), np.array([a, b]), np.add.reduce(b),
        np.squeeze(b), np.asarray([1, 2]), a.dot(b), list(b), b.sum(axis=0), np.sqrt(b, out=b),
    ]  # fmt: skip
    del made


@needs_native
@in_one_mode
def test_no_reference_is_lost_or_kept() -> None:
    a = np.array([1.0, 2.0, 3.0])

    def counts(rounds: int) -> tuple[int, int, int]:
        for _ in range(rounds):
            work(a)
        gc.collect()
        return sys.getallocatedblocks(), sys.getrefcount(np.ndarray), sys.getrefcount(a)

    before, after = counts(50), counts(500)
    assert after[0] - before[0] < 200  # and not one for each round
    assert after[1:] == before[1:]


def test_a_chain_of_many_views_dies_without_a_deep_stack() -> None:
    view = np.arange(3.0)
    for _ in range(200_000):
        view = view[:]
    del view


def test_arrays_can_be_referred_to_weakly_and_in_cycles() -> None:
    small, large = np.arange(3) + 1, np.zeros(config.eager_below + 1) + 1
    refs = [weakref.ref(small), weakref.ref(large)]
    assert [ref() is x for ref, x in zip(refs, (small, large), strict=True)] == [True, True]
    del small, large
    gc.collect()
    assert [ref() for ref in refs] == [None, None]


@needs_native
def test_functions_are_pickled_copied_and_described_as_numpys() -> None:
    for ours, theirs in ((np.sum, numpy.sum), (np.zeros, numpy.zeros), (np.dot, numpy.dot)):
        assert pickle.loads(pickle.dumps(ours)) is ours
        assert copy.deepcopy(ours) is ours
        assert ours.__name__ == theirs.__name__
        assert theirs.__doc__
        assert theirs.__doc__.split("\n")[1] in ours.__doc__
    assert inspect.signature(np.sum) == inspect.signature(numpy.sum)
    assert np.ndarray.sum.__doc__.startswith(numpy.ndarray.sum.__doc__[:40])


def test_functions_of_a_class_are_bound_where_numpys_are() -> None:
    class Holder(list[int]):
        total = np.sum
        make = np.zeros

    assert Holder([1, 2]).total() == 3
    assert len(Holder().make(2)) == 2  # which is built in


def test_rows_of_computed_memory_are_written_in_place() -> None:
    def rewritten(big: Any) -> Any:
        for k in range(0, 700, 7):
            big[k, k] = 5
            big[k] += 1
            big[k + 1, 2:4] = big[k, :2]
            row = big[k + 2]
            row *= 3
        return big

    big = np.zeros((700, 700)) + 1
    assert big.sum() == 490_000
    assert (numpy.asarray(rewritten(big)) == rewritten(numpy.ones((700, 700)))).all()


def test_what_was_recorded_before_a_write_does_not_see_it() -> None:
    big = np.zeros((700, 700)) + 1
    assert big[3, 3] == 1
    later = big * 2
    big[3, 3] = 7
    big[4] += 1
    big[5, :600] = 9
    assert (later[3, 3], later[4, 0], later[5, 0]) == (2, 2, 2)
    assert (big[3, 3], big[4, 0], big[5, 0]) == (7, 2, 9)


def test_a_view_that_must_not_be_written_refuses() -> None:
    big = np.zeros((700, 700)) + 1
    row = big[3]
    row.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        row[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        row += 1
    assert big[3].sum() == 700


def test_threads_write_rows_of_one_array_and_none_is_lost() -> None:
    big = np.zeros((512, 1024)) + 0
    assert big.sum() == 0

    rounds = 20 if config.mode == "default" else 1

    def fill(first: int) -> None:
        for _ in range(rounds):
            for k in range(first, 512 if config.mode == "default" else 32, 4):
                big[k] += 1

    threads = [threading.Thread(target=fill, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (numpy.asarray(big)[:32] == rounds).all()


@needs_native
def test_the_module_refuses_what_it_cannot_work_with() -> None:
    module = native._module
    with pytest.raises(ValueError, match="no kind of function is called x"):
        native.function(len, len, frozenset(), "x", binds=True)
    with pytest.raises(ValueError, match="no kind of method is of x"):
        native.method(len, len, "x")
    with pytest.raises(TypeError, match="derived from Callable"):
        module.take_ufunc(int, len)
    assert module.take("__nothing__", len) is False
    assert module.take("x", len) is False


@needs_native
def test_the_module_was_built_from_these_sources() -> None:
    assert native._module.sources == build.digest()


def test_a_module_of_other_sources_is_left_out_with_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if config.native == "off":
        pytest.skip("nothing is looked for")
    monkeypatch.setattr(native, "digest", lambda: "others")
    if native.built:
        with pytest.warns(RuntimeWarning, match="was built from other sources"):
            assert native._built() is None

    def broken(_name: str) -> Any:
        msg = "undefined symbol"
        raise ImportError(msg)

    monkeypatch.setattr(native.importlib, "import_module", broken)
    with pytest.warns(RuntimeWarning, match="another Python or NumPy .undefined symbol"):
        assert native._built() is None


@in_one_mode
def test_the_module_is_built_where_there_is_a_compiler(tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    pytest.importorskip("setuptools")
    folder = tmp_path / "native"
    shutil.copytree(build.HERE, folder, ignore=shutil.ignore_patterns("*.so", "__pycache__"))

    def built() -> subprocess.CompletedProcess[str]:
        """Build in a process of its own, as users do: others may have met distutils before."""
        script = "import build; print(build.digest(), build.build().parent)"
        return subprocess.run(
            [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False
        )

    assert built().stdout.split() == [build.digest(), str(folder)]
    (folder / "handle.c").write_text("not C\n", encoding="utf-8")
    failed = built()
    assert failed.returncode
    assert "NotBuilt: dnumpy.native._native was not built" in failed.stderr


def test_building_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "setuptools", None)
    with pytest.raises(build.NotBuilt, match="takes setuptools and numpy"):
        build.build()
