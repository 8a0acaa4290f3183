"""The tool that takes pictures of pages ends with words where a step hangs."""

import subprocess
import sys

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
HANGS = "import time\nfrom tools.look import within\nwith within(0.2, 'a page that hangs'): time.sleep(60)"


def test_a_step_that_hangs_is_named_and_ends_the_program():
    ended = subprocess.run([sys.executable, "-c", HANGS], capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 3
    assert "gave up: a page that hangs did not end within 0.2 s" in ended.stderr
    assert "most recent call first" in ended.stderr
