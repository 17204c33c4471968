"""What a phase costs: work belongs to the phase, rate to the device.

Border types: :class:`Work` (what is to be done, device independent), :class:`DeviceProfile` (what a
device can do, measured), :class:`Links` (what bringing bytes from node to node takes, measured),
:class:`OnlineCorrection` (what the runs so far taught). The law::

    seconds = launch + (busy / speed + bytes of files / disk) * correction
    busy = norm(bytes / bandwidth(working set), flops / rate, sum n * ns)
         + fresh bytes * page + short calls * wait

The norm is nearly the maximum (exponent 4) for lowerings that load, compute and store in one loop,
and the Euclidean one for those that run op by op over stretches of a tile. Fifteen programs of 4
and of 16 million elements, tiled, on two threads: the sum is off by 26 % in the median and 74 % at
the 90th percentile, the exponent 1.5 by 22 and 63 %, 2 by 20 and 57 %, 3 by 26 and 62 %, each with
a profile that was measured by the same norm (:mod:`dnumpy.runtime.streamed`).

A first run begins tiled and goes on compiled once there is a kernel (``estimate.first_run``).

Invariants: seconds grow with rows on every profile that verifies; every quantity carries its unit
in its name; a profile is plain data that survives JSON unchanged. To add an op cost class, add its
name to ``OP_CLASSES`` and its measurement to ``runtime/measure.py``; old cached profiles then no
longer verify and are measured again.
"""

from __future__ import annotations

from dnumpy.cost.correction import Observation, OnlineCorrection
from dnumpy.cost.estimate import peak_bytes, seconds, seconds_per_row
from dnumpy.cost.links import Link, Links
from dnumpy.cost.profile import DeviceProfile
from dnumpy.cost.work import OP_CLASSES, Work

__all__ = [
    "OP_CLASSES",
    "DeviceProfile",
    "Link",
    "Links",
    "Observation",
    "OnlineCorrection",
    "Work",
    "peak_bytes",
    "seconds",
    "seconds_per_row",
]
