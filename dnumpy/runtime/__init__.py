"""Plan and kernels -> results: threads of this process, or the workers of a Dask cluster.

:mod:`~dnumpy.runtime.local` runs stages on this process's threads; :mod:`~dnumpy.runtime.cluster`
on many nodes; :mod:`~dnumpy.runtime.probe` measures what a node can do;
:mod:`~dnumpy.runtime.memory` keeps dead buffers for reuse. Dask and distributed are imported here
only, and only when first needed.

Invariants: after ``execute`` every output Expr has its value and no operands; a value that
anything outside the run can see is never written; faults are returned, not printed, so that the
engine can warn at the user's line.
"""
