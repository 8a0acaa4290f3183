"""What examples take from the command line; that they run at all is in test_docs.py."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_eigenfaces_of_given_images(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    light = np.random.default_rng(0).normal(size=(60, 3)) @ np.random.default_rng(1).normal(size=(3, 48))
    np.save("faces.npy", light.reshape(60, 8, 6))
    monkeypatch.setattr("sys.argv", ["eigenfaces.py", "--images", "faces.npy"])
    runpy.run_path(str(EXAMPLES / "eigenfaces.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert "54 images of 8 x 6; 6 more" in said
    assert [line.split()[1] for line in said.splitlines() if line.lstrip().startswith(("5 ", "10 "))][:1] == ["100.0%"]
    assert "component 6" in Path("eigenfaces.html").read_text(encoding="utf-8")
