"""Expr -> stages: what runs as one kernel between two synchronisations.

Border types: :class:`~dnumpy.rewrite.phase.Phase` (a position-independent program over rows) and
:class:`~dnumpy.rewrite.stages.Stage` (a phase bound to its Exprs, or one op on whole operands).

The rule of fusion, in one sentence: an op joins the phase of its operands when row ``i`` of its
result needs only row ``i`` of them. Elementwise ops, reductions of other axes than the first, and
views inside a row always join; a reduction over rows ends its phase with one partial result per
tile. So does ``x.T @ y``, whose result is small beside a tile; ``x @ w`` joins where ``w`` stays in
L2 beside the tiles (512 KiB) and ``x`` is tall, and so does a stack of products. A product of two
matrices without neighbours is one call of the library. Small arrays join no phase, unless they come
between what it computes and what reads that, as the means of rows do.

Invariants: stages are in an order in which every operand is there before its user; every pending
Expr that must have a value is the output of exactly one stage; :func:`~dnumpy.rewrite.phase.verify`
holds for every phase. To add an optimisation, add a rule here and its law in ``tests/rewrite``.
"""
