"""Whatever is done with a large array, its memory goes with it."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import dnumpy
from dnumpy.config import EAGER_BELOW, config

pytestmark = pytest.mark.skipif(config.mode != "default", reason="asked for at once alone")

SIZE = 2 * EAGER_BELOW
STATEMENTS = """
np.percentile(q, [25, 75])|np.median(q)|np.sort(q)|q.flatten()|np.where(m, q, 0)|np.where(m, q, q)
q.max()|np.histogram(q, 50)|np.clip(q, -1, 1)|np.pad(q, 1)|np.diff(q)|np.unique(q)|q.argsort()
q.copy()|q + 1|q + q|q ** 2|-q|abs(q)|q[m]|q[q > 0]|np.partition(q, 100)|q.partition(100)|q.sort()
float(q.sum())|float(q.var())|np.add(q, 1, out=q)|np.add(q, q, q)|q[5]|q[2:9]|q[::2]|q.T
np.flip(q)|(q > 5).any()|np.einsum("i,i", q, q)|q @ q|np.dot(q, q)|np.concatenate([q, q])
q.take([1, 2])|q[[1, 2]]|q[np.arange(5)]|q.cumsum()|np.allclose(q, q)|q.reshape(2, -1).sum(0)
np.exp(q)|np.round(q, 1)|np.roll(q, 1)|np.tile(q, 2)|repr(q)|next(iter(q))|np.split(q, 2)
np.outer(q[:9], q[:9])|np.isin(q, [1.0, 2.0])|np.searchsorted(q, q[:10])|q.astype("f4")
q.astype(int)|np.stack([q, q])|np.insert(q, 0, 1.0)|np.delete(q, 3)|np.repeat(q, 2)|np.gradient(q)
np.select([m, ~m], [q, -q])|np.array_equal(q, q)|np.count_nonzero(m)|q.nonzero()
np.interp(q, [0, 1], [1, 2])|q.tolist()[:3]|np.full(3, q[0])|len(q)|q.shape|q.real|np.ravel(q)
np.maximum(q, 0)|np.sum(q, where=m)|q < q|divmod(q, 2.0)|np.frexp(q)|q.dot(q)|np.add.reduce(q)
np.multiply.outer(q[:3], q[:3])|np.append(q, 1)|q.__imul__(2)|q.__iadd__(q)|q.__setitem__(m, 0.0)
q.__setitem__(m, q[m])|q.__setitem__(3, 1.0)|q.__setitem__(slice(None, None, 2), 1.0)
q.__setitem__([1, 2], 5.0)|q.__setitem__(..., q[::-1])|np.asarray(q)|memoryview(q)
np.percentile(q, 200)|q[10**7]|np.round(q, "x")|np.roll(q, None)|q.reshape(3, 7)|q + "x"|q @ q[:5]
np.pad(q, -1)|q[m[:7]]|q.__setitem__(m, q)|np.where(m, q, "x")|q[k]|rows[k]|rows[m[::4]]
rows[k, k]|rows[:, k]|rows[2:5, 1]|q.__setitem__(k, 1.0)|q.__setitem__(k, q[k])
rows.__setitem__(k, 0.0)|rows.__setitem__((k, k), 1.0)|np.take(q, k)|np.bincount(k)
np.bincount(k, q[:80])|rows.sum(0)|rows.T.sum(0)|rows @ rows[0]|rows.T @ rows|np.add.at(q, k, 1.0)
q[k + 10**7]|rows[k + 10**7]|np.linalg.norm(rows, axis=1)|np.eye(3) @ rows[:3, :3]|[*rows[:3]]
rows.T|rows[..., None]|rows[None]
"""


def memory_of(x: Any) -> Any:
    return x._buf.expr.value if x._np is None else x._np


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("size", [60, SIZE], ids=["small", "large"])
@pytest.mark.parametrize("statement", STATEMENTS.replace("\n", "|").strip("|").split("|"))
def test_memory_goes_with_its_array(statement: str, size: int) -> None:
    code = compile(statement, "<statement>", "eval")
    draw = np.random.default_rng(0)
    made: list[weakref.ref[Any]] = []
    for _ in range(12):  # by all ways in turn, as a line that runs again and again does
        q, m = dnumpy.array(draw.random(size) - 0.5), dnumpy.array(draw.random(size) < 0.5)
        k, rows = dnumpy.array([0, 2, 1, 2] * 20), q.reshape(size // 4, 4)
        made += [weakref.ref(memory_of(x)) for x in (q, m, k)]
        try:
            eval(code, {"np": dnumpy, "q": q, "m": m, "k": k, "rows": rows})  # noqa: S307
        except Exception as error:  # noqa: BLE001 - errors, too, are to hold nothing
            error.__traceback__ = None
        del q, m, k, rows
    gc.collect()
    alive = [k for k, ref in enumerate(made) if ref() is not None]
    assert len(alive) <= 3, alive  # what the last evaluation left may stay until the next one
