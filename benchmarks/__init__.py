"""The same programs under NumPy, dnumpy and other peers, side by side: ``python -m benchmarks``.

A program is a function of the module under test and of data that are already arrays of that module;
it ends by observing its result, so that lazy work is paid for inside the timing. Every result is
compared with NumPy's before any figure is shown. ``programs`` (with ``orders`` and ``draws``) says
what runs, ``peers`` how other libraries say it; ``worker`` runs one program under one peer in a
process of its own, ``compare`` lets them take turns, ``machine`` measures what can be reached at
most, ``report`` prints and stores, and ``chart`` draws from what is stored (``--chart``).

Apart from these: ``kernels`` (which generated kernels a change alters; ``recorder`` and
``expressions`` belong to it), ``accuracy``, ``sorting``, ``dispatch`` with ``flame`` (what an
operation costs before any element is computed), and ``cluster``: unequal nodes on one machine, made
by ``nodes`` with ``quota`` and ``netns``, and on them the programs of ``contest``. ``planning``
judges plans of whole programs: against the best of all, by the time they take, and at a scale that
is only simulated.
"""
