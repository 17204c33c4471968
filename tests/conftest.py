"""What every test may ask for."""

from __future__ import annotations

import dataclasses
import gc
import os
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

# nothing is measured behind a test's back, and no test reads or leaves what runs have taught; which
# way a loop goes depends on what it takes, and is tested in tests/native/test_laps.py
os.environ.setdefault("DNUMPY_CALIBRATE", "off")
os.environ.setdefault("DNUMPY_MIDDLING", "now")
os.environ.setdefault("DNUMPY_REMEMBER", "0")

from dnumpy.config import config
from dnumpy.expr import origin

if TYPE_CHECKING:
    from collections.abc import Iterator

# What reads no settings is the same in every mode; tests/test_repository.py says that plans and
# costs read none, and what ops say of their work is left out as these may.
MODELESS = re.compile(r"tests/(plan/(?!test_op_work)|cost/)")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip, in the modes that are no default, what is the same in all of them; say why it is."""
    if config.mode == "default":
        return
    for item in items:
        why = [mark.args[0] for mark in item.iter_markers("modeless")]
        if MODELESS.match(item.nodeid):
            why.append("plans and costs read no settings")
        if why:
            item.add_marker(pytest.mark.skip(reason=f"the same in every mode: {why[0]}"))


def pytest_collection_finish() -> None:
    """Leave what was imported and collected to itself: each look for garbage took 0.3 s of it."""
    gc.collect()
    gc.freeze()


settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def settings_stay() -> Iterator[None]:
    """A test that leaves a setting changed fails itself, and not another one later."""
    before = dataclasses.replace(config)
    yield
    left, kept = dataclasses.replace(config), before
    for field in dataclasses.fields(config):
        setattr(config, field.name, getattr(kept, field.name))
    assert left == kept


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Return the client of two workers, each a process of one thread."""
    import distributed

    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(autouse=True)
def nothing_is_known_of_any_line() -> None:
    """What lines that tests share did in other tests decides nothing in this one."""
    origin.sites.clear()


@pytest.fixture
def managed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small arrays go through the engine, and through several tiles, in every mode."""
    monkeypatch.setattr(config, "eager_below", min(config.eager_below, 8))
    monkeypatch.setattr(config, "tile_rows_max", min(config.tile_rows_max, 5))
