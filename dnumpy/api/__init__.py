"""What NumPy users touch; the only mutable layer.

An :class:`~dnumpy.api.array.ndarray` is either *small* (``_np`` is a NumPy array, every operation
runs at once) or *managed*: a :class:`~dnumpy.api.buffer.Buffer` (one per NumPy base) and a
Geometry that says where in it the array lies. Writes make new versions of the Buffer's content, so
pending readers keep what they read, and every alias sees the write.

Modules, each importing only those before it: ``array`` (the class), ``buffer``, ``record``
(operations -> Exprs), ``indexing``, ``ufuncs``, ``reductions``, ``composites``, ``methods`` (what
the class can do), ``namespace`` (every public NumPy name), ``protocols``.
"""
