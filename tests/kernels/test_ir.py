"""What is written for LLVM directly is what Numba would have made of the same kernel."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dnumpy.expr.expr import leaf
from dnumpy.kernels import chain, fast, llvm, sums
from dnumpy.kernels.compile import Compiled, compile_directly, compile_source, compile_with_numba
from dnumpy.kernels.fast_loops import loop_source
from dnumpy.kernels.flags import ALL_FLAGS, fenv, to_be_told
from dnumpy.kernels.helpers import STATE_BYTES, helper_source
from dnumpy.kernels.ir import SHORT, WIDE, module_text
from dnumpy.kernels.ir_values import TYPES, Unknown
from dnumpy.kernels.numba import TOLD, NumbaKernel
from tests.kernels import phases as p

WAYS = (compile_directly, compile_with_numba)
CODES = list(TYPES)
PAIRS = [(c, c) for c in ("f8", "f4", "i8", "i4", "u8", "u1", "b1")]
PAIRS += [("i8", "f8"), ("f4", "f8"), ("b1", "i8"), ("i2", "i8")]
FLOATS = [0.0, -0.0, 1.5, -2.5, 7.0, np.inf, -np.inf, np.nan, 5e-324, 1e-310, 1e308, -1e-40]
INTEGERS = [0, 1, -1, 3, -7, 100, -128, 2**15 - 1, 2**31 - 1, -(2**31)]
compiling = settings(
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@cache
def made(way: Any, source: str) -> Compiled:
    """Return the machine code of a kernel under a name of its own."""
    name = f"{way.__name__} {source}"
    return Compiled("", llvm.loaded(name, way(source)), from_disk=False)


def specials(code: str) -> np.ndarray:
    """Return what is special to a code, and can be multiplied as a signed integer."""
    with np.errstate(all="ignore"):
        return np.array(FLOATS if code[0] == "f" else INTEGERS).astype(np.dtype(code))


def flagged(call: Any, *given: int) -> int:
    """Return the floating-point flags that a call raises."""
    flags = fenv()
    flags.feclearexcept(ALL_FLAGS)
    call(*given)
    return int(flags.fetestexcept(ALL_FLAGS))


def expressions(left: str, right: str) -> list[str]:
    """Return all there is to say about two numbers."""
    found = [f"x {sign} y" for sign in ("==", "!=", "<", "<=", ">", ">=")]
    found += ["x if y else x", "1 if x and y else 0", "1 if x or y else 0", "x if x < y else x"]
    found += ["1 if 0 < x <= y else 0", "not x"]
    if (left, right) == ("b1", "b1"):
        return [*found, "x & y", "x | y", "x ^ y", "x + y", "x * y", "f4(x)", "u2(x)"]
    found += ["x + y", "x - y", "x * y", "x / y", "-x", "abs(x)", "x != 2"]
    found += [f"{c}(x)" for c in CODES[1:] if left[0] != "f" or c[0] == "f"]
    if "f" in {left[0], right[0]}:
        return [*found, "sqrt(x)", "x * 2.5", "x + 3"]
    found += ["x // y", "x % y", "x & y", "x | y", "x ^ y"]
    return [*found, "x >> 1", "x << 2", "~x"] if left[0] != "b" else found


def results(left: str, right: str, expression: str) -> str:
    """Return the code in which a result is told."""
    shown = expression.startswith(("f", "sqrt")) or "/ y" in expression.replace("//", "")
    floats = "f" in {left[0], right[0]} and expression[0] not in "1iun" and "<" not in expression
    relation = any(sign in expression for sign in ("=", "<", ">")) and "if" not in expression
    return "f8" if (shown or floats) and not relation else "i8"


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_numbers_are_computed_with_as_numba_computes_with_them(left, right):
    said = expressions(left, right)
    lines = [
        "def kernel(given, n, out):",
        "    a = load_i8(given, 0, 0, 0)",
        "    b = load_i8(given, 1, 0, 0)",
        "    for i in range(n):",
        f"        x = load_{left}(a, i, 0, 0)",
        f"        y = load_{right}(b, i, 0, 0)",
    ]
    for k, text in enumerate(said):
        code = results(left, right, text)
        lines.append(f"        store_{code}(out, {k} * n + i, {text}, 0, 0)")
    source = "\n".join([*lines, ""])
    pairs = np.meshgrid(specials(left), specials(right))
    x, y = (np.ascontiguousarray(v.ravel()) for v in pairs)
    given = np.array([x.ctypes.data, y.ctypes.data])
    found = []
    for way in WAYS:
        out = np.full((len(said), x.size), 7)
        flags = flagged(made(way, source), given.ctypes.data, x.size, out.ctypes.data)
        rows = [p.bits(row.view(results(left, right, t))) for row, t in zip(out, said, strict=True)]
        found.append((flags, dict(zip(said, rows, strict=True))))
    assert found[0] == found[1]


def outcome(bound: p.Bound, way: Any) -> list[Any]:
    """Return the results of a phase, and the flags of each of its runs."""
    kernel, flags = NumbaKernel(bound.phase), []

    class Run:
        def run(self, values: Any, outs: Any, lo: int, hi: int, origin: int = 0) -> None:
            variant: Any = kernel.variant_for(values, outs)
            if variant is None:
                return
            variant.compile()
            code = made(way, variant.source)
            variant._tells_all = False  # each run asks Python for its code
            variant._code = lambda *given: flags.append(flagged(code, *given))
            variant.run(values, outs, lo, hi, origin, ())  # or not, if a constant does not fit

    outs = bound.run(Run())
    return [[p.bits(o) for o in outs], flags]


@settings(compiling, max_examples=25)
@given(p.programs(), st.sampled_from((4096, 1 << 18)))
def test_a_phase_has_the_bits_and_the_flags_that_numba_would_give_it(roots, tile_bytes):
    for bound in p.bound(roots, tile_bytes):
        with np.errstate(all="ignore"):
            assert outcome(bound, compile_directly) == outcome(bound, compile_with_numba)


@pytest.mark.parametrize("code", ["f8", "f4"])
@pytest.mark.parametrize("last", ["divide", "multiply", "less", "equal", "sqrt", "add"])
def test_what_special_values_raise_is_what_they_raise_in_numbas_code(code, last):
    x, y = (v.ravel() for v in np.meshgrid(specials(code), specials(code)))
    raised = []
    for few in (slice(None), slice(0, 5), slice(60, 73)):
        a, b = (leaf(v, v.shape, v.dtype) for v in (x[few].copy(), y[few].copy()))
        quotient = p.apply("divide", p.apply("subtract", a, b), b)
        root = p.apply(last, *((quotient,) if last == "sqrt" else (quotient, a)))
        (bound,) = p.bound([root], 1 << 18)
        found = outcome(bound, compile_directly)
        assert found == outcome(bound, compile_with_numba)
        raised += found[1]
    assert len(raised) == 3
    assert all(raised)


@pytest.mark.parametrize(
    "name", ["fast_exp_f8", "fast_log_f4", "fast_sin_f8", "fast_tan_f8", "fast_arctan2_f8"]
)
def test_a_fast_function_has_the_bits_and_the_faults_that_numba_would_give_it(name):
    code, inputs = name[-2:], fast.FUNCTIONS[name].inputs
    source = loop_source(name, inputs, bounded=name in fast.BOUNDED)
    rng = np.random.default_rng(3)
    with np.errstate(all="ignore"):
        plain = np.concatenate([rng.standard_normal(9000) * 10.0 ** rng.integers(-9, 9), FLOATS])
        x = plain.astype(code)
    for step in (1, 3):
        dims, given = np.array([x.size // step]), [np.roll(x, 3 * k) for k in range(inputs)]
        steps = np.array([step * x.itemsize] * (inputs + 1))
        found = []
        for way in WAYS:
            out = np.full_like(x, 7)
            args = np.array([*[v.ctypes.data for v in given], out.ctypes.data])
            run = made(way, source)
            flags = flagged(run, args.ctypes.data, dims.ctypes.data, steps.ctypes.data)
            # underflow, which these functions may tell of or not, is no fault
            faults = [kind for kind in TOLD if to_be_told(flags, (kind,), truncates=False)]
            found.append((faults, p.bits(out)))
        assert found[0] == found[1]


def sources_of(roots: Any, tile_bytes: int = 1 << 18) -> list[str]:
    """Return the kernels of phases, those that have any."""
    found = []
    for bound in p.bound(roots, tile_bytes):
        variant = NumbaKernel(bound.phase).variant_for(bound.values, bound.allocate())
        found += [variant.source, *variant.helpers] if variant is not None else []
    return found


@settings(compiling, max_examples=150)
@given(st.one_of(p.programs(), p.short_folds()))
def test_no_kernel_of_a_phase_is_left_to_numba(roots):
    for source in sources_of(roots):
        assert module_text(source).startswith("define")


def test_no_kernel_that_is_written_by_hand_is_left_to_numba():
    texts = [helper_source(name, c) for name in ("sum", "finish") for c in ("f8", "f4")]
    texts += [helper_source("gather", c) for c in ("u1", "f4", "f8", "c16")]
    texts += [helper_source("copy", "u1")]
    texts += [chain.SOURCE]
    texts += [
        loop_source(name, about.inputs, bounded=name in fast.BOUNDED)
        for name, about in fast.FUNCTIONS.items()
    ]
    assert all("define" in module_text(text) for text in texts)


def test_what_is_not_in_the_language_is_compiled_by_numba():
    source = "def kernel(n, k, out):\n    store_i8(out, 0, max(n, k), 0, 0)\n"
    with pytest.raises(Unknown):
        module_text(source)
    out = np.zeros(1, np.int64)
    made(compile_source, source)(3, 8, out.ctypes.data)
    assert out[0] == 8


@pytest.mark.parametrize(
    "body",
    [
        "    if a:\n        x = 1\n    store_i8(c, 0, x, 0, 0)",  # it may have no value
        "    x = 1\n    x = 2.5",
        "    store_i8(c, 0, 1, a, 2)",  # a place that is not written out
        "    for i in range(1, a):\n        store_i8(c, i, 1, 0, 0)",
        "    x = a[b]",
        "    x = load_i8(a)",
    ],
)
def test_nothing_is_guessed(body):
    with pytest.raises(Unknown):
        module_text(f"def kernel(a, b, c):\n{body}\n")


@pytest.mark.parametrize("code", ["f8", "f4"])
@pytest.mark.parametrize("count", [1, 7, 128, 500, 512, 1300])
def test_how_much_a_sum_reads_at_once_changes_no_bit(code, count):
    source = helper_source("sum", code)
    finish = made(compile_directly, helper_source("finish", code))
    run = np.random.default_rng(count).standard_normal(count).astype(np.dtype(code))

    def read_by(size: int) -> bytes:
        def way(text: str) -> bytes:
            return llvm.kernel_code(module_text(text, load_bytes=size))

        way.__name__ = f"by {size}"
        state, out = np.zeros(STATE_BYTES, np.uint8), np.zeros(1, run.dtype)
        made(way, source)(run.ctypes.data, count, state.ctypes.data)
        finish(state.ctypes.data, out.ctypes.data, 0)
        return out.tobytes()

    assert read_by(WIDE) == read_by(SHORT) == sums.sum_runs(run[None]).tobytes()
