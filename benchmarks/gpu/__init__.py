"""dnumpy on a GPU beside hand-fused CuPy, plain CuPy and ``jax.jit``: ``python -m benchmarks.gpu``.

``programs`` has the programs: one function of the module, which dnumpy, plain CuPy and NumPy run as
it is. ``kernels`` has the CUDA texts of the hand-fused rivals, which ``fused`` launches; ``jitted``
has the programs that JAX must be told in other words. ``session`` puts the rivals on one device and
compares their results, ``measure`` takes times in turn and the device's own limits, ``report``
makes tables and a record, with the aims.

All rivals run in one process on the same device memory, and leave their results there.
"""
