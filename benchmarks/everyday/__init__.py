"""Whole programs as users write them, against NumPy: ``python -m benchmarks.everyday``.

Each program is a function of the module under test and of a scale, and makes its own data: NumPy
takes 0.03 to 4 ms at scale 1, and up to about 0.1 s at scale 30. All are plain NumPy, none is
written for what dnumpy does well, so they show what a user finds who changes only the import.

The programs lie in modules by topic (``physics``, ``images``, ``signals``, ``samples``,
``learning``, ``linear``, ``records``, ``integers``), each of which ends with the table of its own,
``PROGRAMS``; to add one, write the function and name it there. ``programs`` has all tables as one,
and ``measure`` compares and times.
"""
