"""The command line of the unequal nodes."""

from __future__ import annotations

import pytest

from benchmarks import cluster
from benchmarks.nodes import NodeSpec


def test_nodes_and_programs_are_read():
    options = cluster.parse(
        ["sort", "matmul", "--node", "cpu=1.0,mem=2G,net=1gbit", "--node", "cpu=0.25"]
    )
    assert [program.name for program in options.programs] == ["sort", "matmul"]
    assert options.node == [NodeSpec(1.0, 2 << 30, 1e9), NodeSpec(0.25)]
    assert not options.split


def test_nodes_that_say_only_cpu_split_one_program_as_ever():
    options = cluster.parse(["--node", "cpu=1.0", "--node", "0.5"])
    assert options.node == [NodeSpec(1.0), NodeSpec(0.5)]
    assert (options.split, options.programs) == (True, [])


def test_nodes_with_links_run_every_program_unless_some_are_named():
    options = cluster.parse(["--node", "net=1gbit"])
    assert (options.split, options.programs) == (False, list(cluster.PROGRAMS))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--node", "cpu=9999"], "expected 0.01 to"),
        (["--node", "disk=1G"], "expected each of cpu=, mem= and net= at most once"),
        (["unknown"], "no program unknown; there are normalise, fma_sum, sort, matmul"),
    ],
)
def test_what_is_not_understood_is_said(words, complaint, capsys):
    with pytest.raises(SystemExit):
        cluster.parse(words)
    assert complaint in capsys.readouterr().err


def test_where_nodes_cannot_be_made_the_reason_is_printed(monkeypatch, capsys):
    monkeypatch.setattr(cluster, "why_no_nodes", lambda: "only root may")
    assert cluster.main(["--node", "net=1gbit"]) == 1
    assert "cannot make unequal nodes: only root may" in capsys.readouterr().out


def test_the_plain_form_needs_no_network(monkeypatch):
    monkeypatch.setattr(cluster, "why_no_nodes", lambda: "only root may")
    monkeypatch.setattr(cluster, "why_no_quota", lambda: "")
    assert cluster.why_not([NodeSpec(1.0), NodeSpec(0.5)]) == ""
    assert cluster.why_not([NodeSpec(1.0), NodeSpec(0.5, None, 1e9)]) == "only root may"
