"""What exists: the op table.

An *op* is a row of data (:mod:`dnumpy.ops.families`); its class is its family, and every pass
branches on the family, never on a name. The rows are in :mod:`dnumpy.ops.table`. Layers that use a
column interpret it: kernels read ``ufunc``, the cost model reads ``loop``, the coverage table
reads ``name``. Random draws read a place in a stream (:mod:`dnumpy.ops.streams`), plain data that
any node can enter where its rows begin.

Invariants: a name belongs to one row; rows are compared by identity and pickled by name.
To add an elementwise function or a reduction, add one row.
"""
