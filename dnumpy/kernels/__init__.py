"""Phase -> Kernel: the lowerings.

:mod:`~dnumpy.kernels.reference` runs one op on whole arrays with NumPy: it defines what every
other lowering must equal. :mod:`~dnumpy.kernels.tiled` runs a phase tile by tile with NumPy's
ufuncs into buffers that stay in cache (:mod:`~dnumpy.kernels.buffers`): all tiles in one call of
the module in C, which threads share, where its steps are loops, casts and folds
(:mod:`~dnumpy.kernels.tile_loop`), else adjacent steps where they are short
(:mod:`~dnumpy.kernels.stretches`). Random rows are drawn with NumPy's own generators
(:mod:`~dnumpy.kernels.draws`). :mod:`~dnumpy.kernels.numba` compiles a phase to one
function; :mod:`~dnumpy.kernels.chain` runs a phase that has products of matrices as a chain of
NumPy's own loops, which one machine code walks for all phases. A compiled phase that is not worth
Python's threads is shared out in C (:mod:`~dnumpy.kernels.joint`).

Generated kernels are texts in a small part of Python. :mod:`~dnumpy.kernels.ir` writes them as
LLVM's own text, and :mod:`~dnumpy.kernels.llvm` makes machine code of that, in a thread of this
process; :mod:`~dnumpy.kernels.compile` keeps it on disk. Numba is asked only for what is not in
the language. A new primitive is a function in ``ir_memory``; for Numba, which the tests compare
it with, it stands in ``primitives`` too.

For a GPU, :mod:`~dnumpy.kernels.cuda_lower` cuts a phase into sections,
:mod:`~dnumpy.kernels.cuda_values` and :mod:`~dnumpy.kernels.cuda_emit` write them as one CUDA
kernel over the functions of :mod:`~dnumpy.kernels.cuda_header`,
:mod:`~dnumpy.kernels.cuda_launch` decides how it is launched, and :mod:`~dnumpy.kernels.cupy`
compiles and runs it. Ops on whole arrays are CuPy's libraries', by
:mod:`~dnumpy.kernels.cuda_library`. :mod:`~dnumpy.kernels.device` says what the runtime asks of a
device, and :mod:`~dnumpy.kernels.cupy_device` makes one of a GPU. A new elementwise op is a
function in ``cuda_header`` and a row in ``cuda_words``.

A kernel is ``run(values, outs, lo, hi, origin)``: ``values`` bind the phase's inputs, ``outs``
its outputs; row ``r`` of the phase is entry ``r - origin`` of row values and row outputs; a
partial output has one entry per tile of ``lo:hi``. ``lo`` lies on the tile grid, ``hi`` too or is
the last row. ``run`` returns the floating-point faults met, as (step number, NumPy's word for
it). Kernels release the GIL where they work and keep no state between runs but scratch memory.
"""
