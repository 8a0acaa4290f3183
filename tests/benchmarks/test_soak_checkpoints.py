"""The short form of the soak: processes that are killed, and the bits of what goes on from what they left."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.places import ROOT

pytest.importorskip("resource")


def test_killed_processes_are_gone_on_from_to_the_bit():
    command = [sys.executable, "-m", "benchmarks.soak_checkpoints", "--kills", "6", "--scale", "0.1", "--only"]
    found = subprocess.run([*command, "BernoulliMixture"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    rows = [[cell.strip() for cell in line.split("|")] for line in found.stdout.splitlines()]
    assert [row[0] for row in rows[1:]] == ["BernoulliMixture", "BernoulliMixture, scan"]
    assert sum(int(cell) for row in rows[1:] for cell in row[1:4]) >= 6
    assert all(row[6] == "0" for row in rows[1:])
