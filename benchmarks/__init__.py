"""The same programs under NumPy and dnumpy, alternately in one run: ``python -m benchmarks``.

A program is a function of the module under test and of data that are already arrays of that module;
it ends by observing its result, so that lazy work is paid for inside the timing. Both results are
compared before any figure is shown. ``programs`` says what runs, ``measure`` how it is timed.
"""
