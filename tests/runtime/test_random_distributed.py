"""Random programs on real workers give NumPy's results after every line.

Also while arrays move between the workers, and while workers are lost.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from dnumpy import engine
from dnumpy.config import config
from dnumpy.runtime import cluster as module
from dnumpy.runtime import relayed, settling
from dnumpy.runtime.answers import Elsewhere
from dnumpy.runtime.scores import clear_scores
from tests import programs
from tests.runtime.test_cluster_distributed import client_of, kill, stay_dead
from tests.runtime.test_scores import Planned
from tests.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dnumpy.runtime.sketch import Sketch

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(150),
    pytest.mark.modeless("programs are recorded in the lazy mode here"),
]
FIRST, COUNT, BLOCKS = 9_990_000, 60, 4
WORKERS = 3


class Moving(Planned):
    """Sends what is not tiny to the workers, and has arrays move to anywhere."""

    home_bytes = 200
    embed_bytes = 64.0
    draw = random.Random(5)
    moves = 0

    def plan_elsewhere(self, sketch: Sketch) -> Elsewhere | None:
        places = []
        for number, array in enumerate(sketch.lying):
            if array.where and self.draw.random() < 0.7:
                granule = self.draw.choice([1, 2, 5])
                stops = sorted(
                    self.draw.randint(0, array.rows) // granule * granule for _ in self._alive
                )
                stops[-1] = array.rows
                rows = [b - a for a, b in zip([0, *stops], stops, strict=False)]
                where = zip(self._alive, rows, strict=True)
                places.append((number, tuple((node, n) for node, n in where if n), granule))
        self.moves += len(places)
        return Elsewhere(1.0, 0.0, 1e-9, tuple(places)) if places else None


@pytest.fixture(scope="module")
def lasting() -> Iterator[Moving]:
    workers, client = client_of(WORKERS)
    client.wait_for_workers(WORKERS)
    yield Moving(client)
    client.close()
    workers.close()


@pytest.fixture
def mortal() -> Iterator[Moving]:
    workers, client = client_of(WORKERS)
    client.wait_for_workers(WORKERS)
    for nanny in workers.workers.values():
        nanny.instantiate = stay_dead
    yield Moving(client)
    client.close()
    workers.close()


def send_everything(nodes: Moving, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send also what takes less than a message, and move arrays as soon as they are read."""
    moves_after = settling.moves_after

    def moves_at_once(asked: Any, sketch: Sketch, cluster: Any) -> Any:
        for array in settling._arrays(asked, sketch).values():
            array.stay = array.stay or settling.Stay()
        return moves_after(asked, sketch, cluster)

    monkeypatch.setattr(config, "mode", "lazy")
    monkeypatch.setattr(config, "eager_below", 0)
    monkeypatch.setattr(config, "tile_rows_max", 5)
    monkeypatch.setattr(engine, "cluster_for", lambda *_, **__: nodes)
    monkeypatch.setattr(relayed, "LONGEST_STEP", float("inf"))  # given speeds are no seconds
    monkeypatch.setattr(settling, "_gain", lambda found, _: 1.0 if found else 0.0)
    monkeypatch.setattr(settling.Stay, "is_worth", lambda *_: True)
    monkeypatch.setattr(module, "moves_after", moves_at_once)
    clear_scores()
    nodes.refresh()


def test_random_programs_on_workers_equal_numpy_after_every_line(
    lasting: Moving, monkeypatch: pytest.MonkeyPatch
) -> None:
    send_everything(lasting, monkeypatch)
    for seed in range(FIRST, FIRST + COUNT):
        programs.check(Writer(random.Random(seed)).program())
    assert lasting.moves > COUNT / 4


@pytest.mark.parametrize("block", range(BLOCKS))
def test_they_do_so_though_workers_are_lost(
    mortal: Moving, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    """One in the midst of each program, until a single one is left."""
    send_everything(mortal, monkeypatch)
    run_line, draw, left = programs.run_line, random.Random(block), [0]

    def losing(line: str, env: dict[str, Any]) -> Any:
        left[0] -= 1
        if not left[0]:
            kill(mortal, draw.choice(sorted(mortal.client.nthreads())))
        return run_line(line, env)

    monkeypatch.setattr(programs, "run_line", losing)
    first = FIRST + COUNT + block * (WORKERS - 1)
    for seed in range(first, first + WORKERS - 1):
        left[0] = draw.randrange(8, 40)
        programs.check(Writer(random.Random(seed)).program())
        assert left[0] < 0
    assert len(mortal.client.nthreads()) == 1
