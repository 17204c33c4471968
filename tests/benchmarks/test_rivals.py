"""The programs of the cluster benchmark under NumPy, dnumpy and dask.array; the chunk search."""

from __future__ import annotations

import dask
import numpy
import pytest

import dnumpy
from benchmarks.hetero import compare
from benchmarks.rivals import Reference, blocks, chunkings, search, squares, stride
from benchmarks.workloads import WORKLOADS, Field

SMALL = 2e-3
named = pytest.mark.parametrize("workload", WORKLOADS, ids=lambda one: one.name)


def samples(workload, result):
    """Return what is compared, of any result."""
    return Reference().sample(workload, numpy.asarray(result))


def expected(workload):
    numpy_itself = Reference()
    arrays = numpy_itself.prepare(workload, workload.fields(SMALL))
    return numpy_itself.sample(workload, numpy_itself.run(workload, arrays)[1])


@pytest.mark.parametrize(
    "field",
    [
        Field((100,)),
        Field((70, 30), 1, -0.5),
        Field((99,), 4, threshold=0.5),
        Field((8, 5), 2, 1, 3),
    ],
)
def test_fields_have_the_same_bits_in_every_module(field):
    ours = field.made(numpy)
    assert ours.shape == field.shape
    assert ours.nbytes == field.nbytes
    assert field.low <= ours.min() < ours.max() <= field.low + field.span
    assert numpy.array_equal(ours, numpy.asarray(field.made(dnumpy)))
    assert numpy.array_equal(ours, field.chunked(blocks(3)(field)).compute(scheduler="sync"))


@named
def test_dnumpy_gives_what_numpy_gives(workload):
    arrays = [field.made(dnumpy) for field in workload.fields(SMALL)]
    small = [dnumpy.array(each) for each in workload.small()]
    result = workload.run(dnumpy, *arrays, *small)
    compare(workload, samples(workload, result), expected(workload))


@named
@pytest.mark.parametrize("cut", [blocks(3), squares(2)], ids=["blocks", "squares"])
def test_dask_gives_what_numpy_gives(workload, cut):
    import dask.array as da

    with dask.config.set(scheduler="sync"):
        arrays = [field.chunked(cut(field)) for field in workload.fields(SMALL)]
        small = [da.from_array(each, chunks=-1) for each in workload.small()]
        compare(workload, samples(workload, workload.dask(*arrays, *small)), expected(workload))


def test_another_result_than_numpys_is_refused():
    (workload,) = [one for one in WORKLOADS if one.name == "normalise"]
    right = expected(workload)
    compare(workload, right, right)
    wrong = [right[0].copy(), right[1]]
    wrong[0][-1, -1] += 1e-3
    with pytest.raises(AssertionError, match=r"normalise: not NumPy's result, off by 0\.001"):
        compare(workload, wrong, right)


def test_the_chunking_that_took_least_is_found():
    took = {"a": (3.0, 2.0), "b": (1.5, 1.0), "c": (1.2, 1.1)}
    cuts = {"a": blocks(2), "b": blocks(4), "c": blocks(8)}
    by_cut = {id(cuts[name]): took[name] for name in took}
    found = search(lambda chunks: by_cut[id(chunks)], [Field((64,))], cuts)
    assert (found.name, found.chunks) == ("b", cuts["b"])
    assert found.seconds == {"a": 2.0, "b": 1.0, "c": 1.1}


def test_a_chunking_that_fails_counts_against_itself_alone():
    cuts = {"bad": blocks(2), "good": blocks(4)}

    def run(chunks):
        if chunks is cuts["bad"]:
            msg = "no such luck"
            raise MemoryError(msg)
        return (1.0,)

    found = search(run, [Field((64,))], cuts)
    assert found.name == "good"
    assert found.failed == {"bad": "MemoryError: no such luck"}


def test_equal_chunkings_are_run_once_and_those_that_leave_threads_idle_not_at_all():
    ran = []
    cuts = {"four": blocks(4), "same": blocks(4), "two": blocks(2)}
    search(lambda chunks: ran.append(chunks) or (1.0,), [Field((64,))], cuts, 3)
    assert ran == [cuts["four"]]


@pytest.mark.parametrize("threads", [1, 3, 16])
def test_every_thread_has_a_block_in_all_chunkings_by_threads(threads):
    field = Field((4096, 1024))
    for name in ("1 per thread", "4 per thread", "16 per thread"):
        rows = chunkings(threads)[name](field)[0]
        assert -(-field.shape[0] // rows) >= threads


def test_a_sample_is_small_whatever_the_result():
    assert stride((10, 10)) == 1
    rows, columns = 100_000, 1_000
    assert -(-rows // stride((rows, columns))) * columns * 8 <= 2 << 20
