import os
import resource
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

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


def test_a_full_disk_is_said_of_the_file_that_had_no_room(tmp_path):
    target = tmp_path / "out.txt"
    target.write_text("old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))  # as a quota does
    try:
        with pytest.raises(OSError, match="nothing was written") as raised, replacing(target) as temporary:
            temporary.write_bytes(bytes(2000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert raised.value.filename == str(target)
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


def test_permissions_of_the_file_that_is_replaced_are_kept(tmp_path):
    target = tmp_path / "secret"
    target.write_text("old")
    target.chmod(0o600)
    with replacing(target) as temporary:
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
        temporary.write_text("new")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    target.chmod(0o640)
    with replacing(target) as temporary:
        temporary.write_text("newer")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_many_threads_may_write_to_one_path(tmp_path):
    target = tmp_path / "shared"
    texts = [f"{number}" * 20_000 for number in range(32)]

    def write(text):
        for _ in range(5):
            with replacing(target) as temporary:
                temporary.write_text(text)
            assert target.read_text() in texts

    with ThreadPoolExecutor(32) as pool:
        list(pool.map(write, texts))
    assert os.listdir(tmp_path) == ["shared"]


KILLED = """
import os, signal, sys
from unveil.storage.atomic import replacing
with replacing(sys.argv[1]) as temporary:
    temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_save_left_behind_goes_with_the_next_one(tmp_path):
    target, other = tmp_path / "out", tmp_path / ".other.1.part"
    other.write_text("of somebody else")
    os.utime(other, (0, 0))
    subprocess.run([sys.executable, "-c", KILLED, target], check=False)
    (leftover,) = set(os.listdir(tmp_path)) - {other.name}
    with replacing(target) as temporary:
        assert leftover in os.listdir(tmp_path)  # for all that is known, its writer goes on
        temporary.write_text("whole")
    os.utime(tmp_path / leftover, (0, 0))
    with replacing(target) as temporary:
        os.utime(temporary, (0, 0))
        with replacing(target) as second:
            assert temporary.exists()  # old, but held
            second.write_text("second")
        temporary.write_text("first")
    assert sorted(os.listdir(tmp_path)) == [other.name, "out"]


@pytest.mark.parametrize("letter", ["a", "\N{GREEK SMALL LETTER ALPHA}", "\N{GRINNING FACE}"])
def test_names_may_be_as_long_as_the_disk_takes(tmp_path, letter):
    target = tmp_path / (letter * (255 // len(letter.encode())))
    with replacing(target) as temporary:
        temporary.write_text("long")
    assert target.read_text() == "long"


def test_places_where_nothing_can_be_written_are_refused_with_a_reason(tmp_path, monkeypatch):
    with pytest.raises(IsADirectoryError, match="is a folder"):
        checked_target(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"x/out: the folder .* does not exist"):
        checked_target(tmp_path / "x" / "out")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError, match="no permission to write"):
        checked_target(tmp_path / "out")
