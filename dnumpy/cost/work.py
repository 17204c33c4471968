"""What a phase does, per row and in total, whatever the device."""

from __future__ import annotations

from dataclasses import dataclass

OP_CLASSES = (
    "arith",  # add, multiply, negate, minimum, bitwise: one vector instruction
    "div",
    "sqrt",
    "exp",  # exp, log, tanh, arctan and what else NumPy vectorises like them
    "trig",  # sin and cos, which NumPy does one by one
    "pow",
    "compare",
    "select",  # where: a choice per element, hard to predict
    "cast",
    "reduce",  # elements read by a reduction
    "fold",  # results of reductions along the last axis, whatever their length
    "pick",  # likewise, of argmin and argmax
    "run",  # inner loops begun anew since an operand is broadcast within a row
    "index",  # elements read by argmin and argmax
    "scan",  # elements of running folds (cumsum): each waits for the one before
    "gather",  # elements read through an index array
    "scatter",  # elements written through an index array
    "sort",  # elements times the binary logarithm of how many are sorted together
    "fft",  # likewise, of how many are transformed together
    "lapack",  # multiply-adds of a decomposition or solution
    "other",  # loops over scalar library calls (hypot, remainder), and ufuncs of no known class
    "matmul",  # multiply-adds of a contraction that BLAS does not do (integers, objects)
    "vector",  # elements of matrices that BLAS multiplies by a vector, each of them once
)


def merged_loops(
    left: tuple[tuple[str, float], ...], right: tuple[tuple[str, float], ...]
) -> tuple[tuple[str, float], ...]:
    """Return the elements of both, added up per class, in the order of ``OP_CLASSES``."""
    total: dict[str, float] = {}
    for op_class, elements in (*left, *right):
        total[op_class] = total.get(op_class, 0.0) + elements
    return tuple((c, total[c]) for c in OP_CLASSES if c in total)


@dataclass(frozen=True, slots=True)
class Work:
    """What one phase does on ``rows`` rows; all but ``fixed_bytes`` is per row.

    Attributes
    ----------
    rows : int
        Extent of the axis that partitions cut.
    flops : float
        Floating-point operations per row done by BLAS.
    bytes_read, bytes_written : float
        Bytes per row that enter and leave the phase; what stays inside a tile is not counted.
    loops : tuple of (str, float)
        Elements per row by op cost class, see ``OP_CLASSES``.
    workspace_bytes_per_row : float
        Memory per row beyond inputs and outputs.
    bytes_fresh : float
        Of the bytes written per row, those that go to memory that is new to the process.
    fixed_bytes : float
        Bytes that every node taking part must hold whatever its rows: replicated inputs, tiles.
    dtype : str
        The dtype that dominates; picks the GEMM rate and scales vector loops.
    passing_bytes_per_row : float
        Of the bytes read, those that are not held: they are read from a file block by block.
    bytes_again : float
        Of the bytes read per row, those that come from caches, as rows of another operand overlap
        them.
    calls : float
        Calls of NumPy's per row, where they cannot be made as long as one likes.
    program : str
        What tells kernels apart that do as much work: the same for any number of rows.
    compiled : tuple of (str, float)
        The loops of the compiled kernel, where they are others.
    code : float
        How long making machine code of it takes, as a multiple of what one loop takes.
    likeness : str
        What tells, in any process, whether there is machine code of it on a disk
        (:func:`dnumpy.rewrite.phase.likeness`); empty where there never is.
    """

    rows: int
    flops: float = 0.0
    bytes_read: float = 0.0
    bytes_written: float = 0.0
    loops: tuple[tuple[str, float], ...] = ()
    workspace_bytes_per_row: float = 0.0
    fixed_bytes: float = 0.0
    dtype: str = "float64"
    bytes_fresh: float = 0.0
    passing_bytes_per_row: float = 0.0
    bytes_again: float = 0.0
    calls: float = 0.0
    program: str = ""
    compiled: tuple[tuple[str, float], ...] = ()
    code: float = 1.0
    likeness: str = ""

    def __add__(self, other: Work) -> Work:
        """Return the work of a phase that does both on the same rows; everything adds up."""
        if self.rows != other.rows:
            msg = f"work over {self.rows} rows and work over {other.rows} rows are two phases"
            raise ValueError(msg)
        wider = self if self.flops + self.bytes_read >= other.flops + other.bytes_read else other
        return Work(
            rows=self.rows,
            flops=self.flops + other.flops,
            bytes_read=self.bytes_read + other.bytes_read,
            bytes_written=self.bytes_written + other.bytes_written,
            loops=merged_loops(self.loops, other.loops),
            workspace_bytes_per_row=self.workspace_bytes_per_row + other.workspace_bytes_per_row,
            fixed_bytes=self.fixed_bytes + other.fixed_bytes,
            dtype=wider.dtype,
            bytes_fresh=self.bytes_fresh + other.bytes_fresh,
            passing_bytes_per_row=self.passing_bytes_per_row + other.passing_bytes_per_row,
            bytes_again=self.bytes_again + other.bytes_again,
            calls=self.calls + other.calls,
            program="+".join(filter(None, (self.program, other.program))),
            compiled=merged_loops(self.loops_of("numba"), other.loops_of("numba"))
            if self.compiled or other.compiled
            else (),
            code=self.code + other.code,
            likeness="+".join(filter(None, (self.likeness, other.likeness))),
        )

    def loops_of(self, lowering: str) -> tuple[tuple[str, float], ...]:
        """Return the elements per row by op cost class, as they are run by this lowering."""
        return self.compiled if lowering == "numba" and self.compiled else self.loops

    @property
    def bytes_moved(self) -> float:
        """Bytes that one row moves from memory and to it."""
        return max(self.bytes_read - self.bytes_again, 0.0) + self.bytes_written

    @property
    def bytes_per_row(self) -> float:
        """Bytes of memory that one row takes: inputs, outputs and workspace."""
        read = max(self.bytes_read - self.passing_bytes_per_row, 0.0)
        return read + self.bytes_written + self.workspace_bytes_per_row

    def verify(self) -> None:
        """Raise ValueError unless all amounts are finite and not negative and classes are known."""
        amounts = {
            "rows": self.rows,
            "flops": self.flops,
            "bytes_read": self.bytes_read,
            "bytes_written": self.bytes_written,
            "workspace_bytes_per_row": self.workspace_bytes_per_row,
            "fixed_bytes": self.fixed_bytes,
            "bytes_fresh": self.bytes_fresh,
            "passing_bytes_per_row": self.passing_bytes_per_row,
            "bytes_again": self.bytes_again,
            "calls": self.calls,
            "code": self.code,
            **{f"loops[{c}]": n for c, n in self.loops},
            **{f"compiled[{c}]": n for c, n in self.compiled},
        }
        for name, amount in amounts.items():
            if not 0 <= amount < float("inf"):
                msg = f"Work.{name} is {amount}: expected a finite amount, not negative"
                raise ValueError(msg)
        unknown = [c for c, _ in self.loops if c not in OP_CLASSES]
        if unknown:
            msg = f"Work.loops has unknown op classes {unknown}: expected some of {OP_CLASSES}"
            raise ValueError(msg)

    def __str__(self) -> str:
        """Return one line: rows, bytes, flops and elements per row."""
        loops = " ".join(f"{c}={n:g}" for c, n in self.loops) or "no loops"
        return (
            f"{self.rows} rows of {self.dtype} x (read {self.bytes_read:g} B, "
            f"write {self.bytes_written:g} B, {self.flops:g} flops, {loops}) "
            f"+ {self.fixed_bytes:g} B on each node"
        )
