import os
import stat

import pytest

from unveil.storage.atomic import checked_target, replacing


def test_appears_only_when_all_is_written(tmp_path):
    target = tmp_path / "out.txt"
    with replacing(target) as temporary:
        temporary.write_text("whole")
        assert not target.exists()
        assert temporary.parent == target.parent
    assert target.read_text() == "whole"
    assert os.listdir(tmp_path) == ["out.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_failure_leaves_the_old_file_and_no_other(tmp_path, error):
    target = tmp_path / "out.txt"
    target.write_text("old")

    def interrupted() -> None:
        with replacing(target) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        interrupted()
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_link_is_followed_and_stays_a_link(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    link.symlink_to(real)
    with replacing(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_device_is_written_to_and_not_replaced():
    with replacing(os.devnull) as temporary:
        temporary.write_text("gone")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_new_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "usual").write_text("")
    with replacing(tmp_path / "ours") as temporary:
        temporary.write_text("")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_places_where_nothing_can_be_written_are_refused_with_a_reason(tmp_path, monkeypatch):
    with pytest.raises(IsADirectoryError, match="is a folder"):
        checked_target(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"x/out: the folder .* does not exist"):
        checked_target(tmp_path / "x" / "out")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError, match="no permission to write"):
        checked_target(tmp_path / "out")
