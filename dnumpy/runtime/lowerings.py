"""What the compiled lowering takes per element, by op class, through the kernels that will run.

Each class has a phase in which its op follows a product, over rows that stay in cache; what it
takes beyond the product alone is the class's. What comes once in a row is told from its elements by
rows of two lengths. Classes that are never compiled into a loop (random
reads, products that BLAS does not do) have no entry, and cost what they do tiled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.expr.expr import Expr, leaf, make
from dnumpy.expr.walk import pending_in_order
from dnumpy.kernels import compile as compiler
from dnumpy.kernels.numba import NumbaKernel, Variant
from dnumpy.kernels.partials import partial_dtype
from dnumpy.ops.families import Elementwise, lookup
from dnumpy.ops.table import CAST, MATMUL, WHERE
from dnumpy.rewrite.cut import Grain, cut
from dnumpy.rewrite.phase import ReduceParams
from dnumpy.rewrite.stages import FusedStage
from dnumpy.runtime import measure

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnumpy.rewrite.phase import Phase

ROWS = 1 << 15
GRAIN = Grain(min_size=1, tile_bytes=1 << 18, tile_rows_max=1 << 18)
LEAST_NS = 0.01  # what hides behind the loads and stores of the loop is not free
LEAST_RUNS = 8
LONG = 1 << 9  # elements of a row, beside which what comes once in a row is little


def compiled_ns() -> tuple[tuple[tuple[str, float], ...], float]:
    """Return ns per element by op class of compiled kernels, and the seconds that compiling took.

    float64, one thread. The second figure is of one phase of several ops, compiled anew whatever
    is on disk.
    """
    source = np.random.default_rng(0)
    x = stored(source.uniform(0.5, 1.5, ROWS))
    y = stored(source.uniform(0.5, 1.5, ROWS))
    product = applied("multiply", x, y)
    alone = _phase_ns(product)
    table = {}
    for op_class, (program, times) in programs(x, y, product).items():
        beyond = (_phase_ns(program) - alone) / times
        table[op_class] = max(LEAST_NS, beyond)
    table |= _of_rows(x.value, y.value, table)
    return tuple(table.items()), _compile_seconds(programs(x, y, product)["arith"][0])


def _of_rows(x: np.ndarray, y: np.ndarray, table: dict[str, float]) -> dict[str, float]:
    """Return what a row takes by class, and an element in the search for the least one."""
    long, short = (_rows_ns(x, y, length) for length in (LONG, measure.SHORT))
    index = long["index"] / LONG
    found = {
        "index": index,
        "pick": short["index"] - measure.SHORT * index,
        "fold": short["reduce"] - measure.SHORT * table["reduce"],
    }
    return {op_class: max(LEAST_NS, ns) for op_class, ns in found.items()}


def _rows_ns(x: np.ndarray, y: np.ndarray, length: int) -> dict[str, float]:
    """Return ns per row of so many elements, of what follows a product."""
    a, b = (stored(operand.reshape(-1, length)) for operand in (x, y))
    product = applied("multiply", a, b)
    alone = _phase_ns(product)
    programs = {
        "index": reduced("argmin", product, 1, np.dtype(np.intp)),
        "reduce": reduced("add.reduce", product, 1, product.dtype),
    }
    return {op_class: _phase_ns(program) - alone for op_class, program in programs.items()}


def programs(x: Expr, y: Expr, product: Expr) -> dict[str, tuple[Expr, int]]:
    """Return per op class a program and how many ops of the class follow the product in it."""
    chain = product
    for name in ("add", "subtract", "multiply", "add", "multiply", "subtract", "add", "maximum"):
        chain = applied(name, chain, y if name in ("multiply", "maximum") else x)
    greater = applied("greater", product, y)
    chosen = make(WHERE, (greater, product, y), (), x.shape, x.dtype)
    single = np.dtype(np.float32)
    return {
        "arith": (chain, 8),
        "div": (applied("divide", applied("divide", product, x), y), 2),
        "sqrt": (applied("sqrt", applied("sqrt", product)), 2),
        "exp": (applied("log", applied("exp", product)), 2),
        "trig": (applied("sin", applied("cos", product)), 2),
        "pow": (applied("power", product, y), 1),
        "compare": (greater, 1),
        "select": (chosen, 1),
        "cast": (make(CAST, (product,), (), x.shape, single), 1),
        "reduce": (reduced("add.reduce", product, 0, product.dtype), 1),
        "other": (applied("hypot", product, y), 1),
    }


def stored(array: np.ndarray) -> Expr:
    """Return an Expr that has this value."""
    return leaf(array, array.shape, array.dtype)


def applied(name: str, *args: Expr) -> Expr:
    """Return the named ufunc of the operands."""
    dtypes = tuple(arg.dtype for arg in args)
    op = lookup(name)
    assert isinstance(op, Elementwise)
    assert op.ufunc is not None
    found = op.ufunc.resolve_dtypes((*dtypes, None))[-1]
    return make(op, args, (), args[0].shape, found)


def by_vector(rows: Expr, vector: np.ndarray) -> Expr:
    """Return the product of each row with the vector."""
    return make(MATMUL, (rows, stored(vector)), (), rows.shape[:1], rows.dtype)


def reduced(name: str, operand: Expr, axis: int, dtype: np.dtype) -> Expr:
    """Return the named reduction of the operand along an axis."""
    params = ReduceParams((axis,), False, None, None, False)
    shape = (*operand.shape[:axis], *operand.shape[axis + 1 :])
    return make(lookup(name), (operand,), params, shape, dtype)


def stage_of(program: Expr, grain: Grain = GRAIN) -> FusedStage:
    """Return the one phase that the program is."""
    (stage,) = cut(pending_in_order([program]), [program], grain)
    assert isinstance(stage, FusedStage)
    return stage


def _phase_ns(program: Expr) -> float:
    """Return ns per row of the program as one compiled kernel."""
    stage = stage_of(program)
    phase = stage.phase
    kernel = NumbaKernel(phase)
    values = [arg.value for arg in stage.inputs]
    outs = outputs_of(phase)

    def run() -> None:
        kernel.run(values, outs, 0, phase.rows)

    run()  # compiled
    return measure.best_seconds(run, least=LEAST_RUNS) / phase.rows * 1e9


def outputs_of(phase: Phase) -> list[np.ndarray]:
    """Return memory for all that the phase gives, written to."""
    outs = []
    for output in phase.outputs:
        step = phase.steps[output.slot - len(phase.inputs)]
        if output.partial:
            dtype = partial_dtype(step, phase.dtype_of(step.args[0]))
            outs.append(np.zeros((phase.tiles, *phase.partial_shape(step)), dtype))
        else:
            outs.append(np.zeros(step.shape, step.dtype))
    return outs


def _compile_seconds(program: Expr) -> float:
    """Return the CPU time, in all processes, of making machine code of a program."""
    variant = variant_of(program)
    compile_it: Callable[[], bytes] = lambda: compiler.compile_source(variant.source)  # noqa: E731
    compile_it()  # the process that compiles has to be started
    return measure.best_seconds(compile_it, least=1, clock=compiler.cpu_seconds)


def variant_of(program: Expr) -> Variant:
    """Return the program as it would be compiled for what its operands are."""
    stage = stage_of(program)
    values: list[Any] = [arg.value for arg in stage.inputs]
    variant = NumbaKernel(stage.phase).variant_for(values, outputs_of(stage.phase))
    assert isinstance(variant, Variant)  # all lies side by side
    return variant
