"""Plan and kernels -> results: threads of this process, or the workers of a Dask cluster.

:mod:`~dnumpy.runtime.local` runs stages on this process's threads; :mod:`~dnumpy.runtime.cluster`
on many nodes; :mod:`~dnumpy.runtime.probe` measures what a node can do;
:mod:`~dnumpy.runtime.memory` keeps dead buffers for reuse, ``pages`` under new ones. Dask and
distributed are imported here only, and only when first needed.

A run on a cluster: ``layout`` says for each stage how it is computed (a producer) and asks who gets
which rows. The first time, for ``sketch``, nothing is built; ``jointly`` has the sketch planned as
one program; the second time the layout follows, producers add tasks to the ``graph`` (``bind``
brings their operands, ``folds`` folds what they leave behind, ``glue`` joins small work to what it
waits for), and the cluster runs it. What ran as a relay is performed on other values by its score
(``scores``), without any of that. Who adds a producer adds it to ``layout`` and, where it reads
rows that do not follow the result's, says so in its demand.

Invariants: after ``execute`` every output Expr has its value and no operands; a value that
anything outside the run can see is never written; faults are returned, not printed, so that the
engine can warn at the user's line.
"""
