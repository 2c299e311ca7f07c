# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The firn authors
"""Where the registry's file lies and what becomes of it: on a network, on a read-only file system,
emptied, moved away, made anew; commits whose reply is lost; and what the command says of it all."""
import errno
import shutil
import sqlite3
import subprocess
import time

import pytest

from helpers import (DEADLINE_S, PROGRAMS, Registry, firn, judge, new_folder, remove_folder, tick_ms,
                     wait_until)

WINDOW_MS = 600
TIMEOUT_MS = 200
# What a busy machine may take between two blocks of a minter.
SLACK_MS = 250
# firn_state's text, with its final NUL.
STATE_TEXT_SIZE = 256
STEADY = {"block": 16, "pause_us": 200}
NETWORKS = {"NFS": "0x6969", "SMB2": "0xfe534d42", "9P": "0x01021997", "Ceph": "0x00c36400",
            "FUSE": "0x65735546"}
LOCAL = {"ext4": "0xef53", "xfs": "0x58465342", "btrfs": "0x9123683e", "tmpfs": "0x01021994",
         "overlayfs": "0x794c7630"}


def on_file_system(kind):
    return {"LD_PRELOAD": str(PROGRAMS / "network.so"), "NETWORK_TYPE": kind}


def last_ms(stopped):
    """The millisecond of the last id before a stop."""
    return tick_ms(int(stopped.line.split(" ")[3]))


@pytest.fixture
def windowed(registry):
    return registry.init("--window", f"{WINDOW_MS}ms")


class Faults:
    """faults.c: a disk that fails while it is told to."""

    def __init__(self, registry):
        self.control = registry.folder / "faults"
        self.env = {"LD_PRELOAD": str(PROGRAMS / "faults.so"), "FAULTS_PATH": registry.path.name,
                    "FAULTS_CONTROL": str(self.control)}

    def begin(self, kind, reason):
        fresh = self.control.with_suffix(".new")
        fresh.write_text(f"{kind} {reason}\n")
        fresh.rename(self.control)

    def end(self):
        self.control.unlink()


# Network file systems.

@pytest.mark.parametrize("name,kind", NETWORKS.items(), ids=NETWORKS)
def test_a_registry_on_a_network_file_system_is_refused_by_its_name(registry, name, kind):
    network = on_file_system(kind)
    status, text = registry.minter(env=network).refusal()
    assert status == "FIRN_E_REGISTRY_NETWORK"
    assert f": {name}: " in text and str(registry.folder) in text and "local disk" in text
    for command in ("init", "gen"):
        assert name in firn(command, "--registry", registry.url, code=3, **network)
    assert not registry.path.exists()


def test_a_registry_whose_folder_became_a_network_mount_is_refused_and_left_alone(registry):
    registry.minter(count=1000).finish()
    before = registry.path.read_bytes()
    network = on_file_system(NETWORKS["NFS"])
    for url in (registry.url, registry.static_url(4)):
        status, text = registry.minter(url=url, env=network).refusal()
        assert status == "FIRN_E_REGISTRY_NETWORK" and "NFS" in text
    assert "NFS" in firn("workers", "--registry", registry.url, code=3, **network)
    assert registry.path.read_bytes() == before


@pytest.mark.parametrize("kind", LOCAL.values(), ids=LOCAL)
def test_a_registry_on_a_local_file_system_is_welcome(registry, kind):
    registry.minter(env=on_file_system(kind), count=1000).finish()
    assert judge(registry.files()).total == 1000


# Read-only.

@pytest.fixture
def mounted(tmp_path):
    """A file system of one's own, to mount anew; only root may."""
    folder = tmp_path / "mounted"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("only root, with the right to mount, can mount a file system of its own")
    yield folder
    # Lazily: a process that this test failed to end must not keep the mount for ever.
    subprocess.run(["umount", "-l", folder], check=True)


def remount(folder, how):
    subprocess.run(["mount", "-o", f"remount,{how}", folder], check=True)


def test_a_file_system_mounted_read_only_is_refused_until_it_can_be_written(registry, mounted):
    disk = Registry(mounted)
    disk.minters = registry.minters
    disk.minter(out=registry.folder / "before", count=1000).finish()
    remount(mounted, "ro")
    for url in (disk.url, f"sqlite:{mounted}/new.db"):
        status, text = disk.minter(out=registry.folder / "refused", url=url).refusal()
        assert status == "FIRN_E_REGISTRY_ACCESS" and str(mounted) in text, text
    assert str(disk.path) in firn("gen", "--registry", disk.url, code=3)
    remount(mounted, "rw")
    disk.minter(out=registry.folder / "after", count=1000).finish()
    assert judge([registry.folder / "before", registry.folder / "after"]).total == 2000


@pytest.mark.parametrize("renewal", ["demand", "thread"])
@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EROFS, errno.EIO], ids=errno.errorcode.get)
def test_ids_flow_to_the_end_of_the_window_when_the_disk_takes_no_more_writes(windowed, reason,
                                                                            renewal):
    faults = Faults(windowed)
    minter = windowed.minter(env=faults.env, renewal=renewal, **STEADY)
    minter.wait_made(500)
    faults.begin("write", reason)
    stopped = minter.expect("stop", 0)
    assert stopped.fields[1] in ("FIRN_E_REGISTRY_IO", "FIRN_E_REGISTRY_ACCESS"), stopped
    mark_ms = windowed.row(0)["mark_ms"]
    assert mark_ms - SLACK_MS <= last_ms(stopped) < mark_ms
    # As long as the disk fails, there is no id beyond what it keeps.
    made = minter.made()
    wait_until(lambda: time.time() * 1000 > mark_ms + WINDOW_MS, "a window's time passes")
    assert minter.made() == made and windowed.row(0)["mark_ms"] == mark_ms
    faults.end()
    minter.expect("flow", 0)
    minter.wait_more(500)
    assert minter.end()["healthy"] == 1
    judge(windowed.files())


def test_a_commit_whose_reply_is_lost_burns_what_it_reserved(registry):
    # R2. One worker only, so that the same number must go on.
    registry.init("--window", f"{WINDOW_MS}ms", "--workers", "0-0")
    faults = Faults(registry)
    minter = registry.minter(env=faults.env, **STEADY)
    minter.wait_made(500)
    faults.begin("lost", errno.EIO)
    stopped = minter.expect("stop", 0, "FIRN_E_REGISTRY_IO")
    burned_ms = registry.row(0)["mark_ms"]
    # It was durable, although its caller was told that it failed.
    assert burned_ms >= last_ms(stopped) + WINDOW_MS
    faults.end()
    flowing = minter.expect("flow", 0)
    assert tick_ms(int(flowing.fields[1])) >= burned_ms
    minter.wait_more(500)
    assert minter.end()["lost_replies"] >= 1
    assert all(not last_ms(stopped) < tick_ms(made) < burned_ms for made in minter.ids())
    assert judge(registry.files()).workers == [0]


@pytest.mark.parametrize("kind,reason", [("write", errno.ENOSPC), ("sync", errno.EIO)],
                         ids=["no-room", "bad"])
def test_the_command_names_the_disk_that_fails_and_goes_on_when_it_is_whole(registry, kind, reason):
    registry.init()
    faults = Faults(registry)
    gen = ("gen", "-n", "100", "--registry", registry.url)
    made = firn(*gen, **faults.env).split()
    faults.begin(kind, reason)
    text = firn(*gen, code=3, **faults.env)
    assert str(registry.path) in text and "check the disk" in text and len(text.splitlines()) == 1
    faults.end()
    made += firn(*gen, **faults.env).split()
    assert len(made) == len(set(made)) == 200


# Locks.

def hold(registry, how):
    connection = sqlite3.connect(registry.path, timeout=DEADLINE_S, isolation_level=None)
    connection.execute(f"BEGIN {how}")
    return connection


@pytest.mark.parametrize("how", ["IMMEDIATE", "EXCLUSIVE"])
def test_a_registry_that_is_locked_is_refused_at_the_timeout_and_not_before(windowed, how):
    holder = hold(windowed, how)
    began = time.monotonic()
    status, text = windowed.minter(timeout_ms=TIMEOUT_MS).refusal()
    assert status == "FIRN_E_REGISTRY_BUSY" and str(windowed.path) in text and "try again" in text
    assert TIMEOUT_MS / 1000 <= time.monotonic() - began < TIMEOUT_MS / 1000 * 3 + 5
    holder.close()
    windowed.minter(count=1000).finish()
    judge([windowed.minters[-1].out])


def test_the_command_gives_up_on_a_locked_registry_at_the_timeout_it_was_given(windowed):
    holder = hold(windowed, "IMMEDIATE")
    began = time.monotonic()
    text = firn("gen", "--registry", windowed.url, "--timeout", f"{TIMEOUT_MS}ms", code=5)
    span_s = time.monotonic() - began
    assert str(windowed.path) in text and "did not answer in time" in text
    assert TIMEOUT_MS / 1000 <= span_s < TIMEOUT_MS / 1000 + 2, span_s
    holder.close()


@pytest.mark.parametrize("how", ["IMMEDIATE", "EXCLUSIVE"])
def test_ids_flow_to_the_end_of_the_window_while_another_holds_the_lock(windowed, how):
    minter = windowed.minter(timeout_ms=TIMEOUT_MS, renewal="thread", **STEADY)
    minter.wait_made(500)
    holder = hold(windowed, how)
    # Nobody can write now, and its own connection can read.
    mark_ms = holder.execute("SELECT mark_ms FROM firn_worker").fetchone()[0]
    stopped = minter.expect("stop", 0, "FIRN_E_REGISTRY_BUSY")
    # The last call for an id may be waiting for the lock when the window ends.
    assert mark_ms - SLACK_MS <= last_ms(stopped) < mark_ms
    assert str(windowed.path) in stopped.line
    holder.close()
    minter.expect("flow", 0)
    minter.wait_more(500)
    assert minter.end()["conflicts"] == 0
    judge(windowed.files())


# The file itself.

def test_an_empty_file_is_no_registry_until_one_is_made_in_it(registry):
    registry.path.touch()
    status, text = registry.minter(create=0).refusal()
    assert status == "FIRN_E_REGISTRY_MISSING" and "is empty" in text and "firn init" in text
    assert "is empty" in firn("gen", "--registry", registry.url, code=3)
    assert registry.path.stat().st_size == 0
    registry.minter(count=1000).finish()
    judge([registry.minters[-1].out])


def test_half_of_a_registry_is_refused(registry):
    registry.minter(count=1000).finish()
    whole = registry.path.read_bytes()
    with open(registry.path, "r+b") as file:
        file.truncate(len(whole) // 2)
    status, text = registry.minter().refusal()
    assert status == "FIRN_E_REGISTRY_CORRUPT" and str(registry.path) in text
    assert registry.path.read_bytes() == whole[:len(whole) // 2]


def test_a_registry_under_another_name_is_still_the_same(registry):
    registry.minter(count=1000).finish()
    registry.path = registry.path.rename(registry.folder / "renamed.db")
    registry.url = f"sqlite:{registry.path}"
    registry.minter(count=1000, mode="wait").finish()
    assert judge(registry.files()).total == 2000


def test_a_registry_moved_away_stops_ids_with_their_window_and_they_flow_when_it_is_back(windowed):
    minter = windowed.minter(**STEADY)
    minter.wait_made(500)
    elsewhere = windowed.path.rename(windowed.folder / "elsewhere.db")
    stopped = minter.expect("stop", 0)
    assert stopped.fields[1].startswith("FIRN_E_REGISTRY_"), stopped
    assert str(windowed.path) in stopped.line
    assert not windowed.path.exists()
    elsewhere.rename(windowed.path)
    assert last_ms(stopped) < windowed.row(0)["mark_ms"]
    minter.expect("flow", 0)
    minter.wait_more(500)
    minter.end()
    judge(windowed.files())


def test_a_holder_never_joins_a_registry_that_others_made_in_the_place_of_its_own(windowed):
    minter = windowed.minter(**STEADY)
    minter.wait_made(500)
    windowed.path.unlink()
    stopped = minter.expect("stop", 0)
    made = minter.made()
    other = windowed.minter(count=20000, mode="wait", **STEADY)
    other.finish()
    assert minter.made() == made
    assert minter.said("stop")[-1].fields[1].startswith("FIRN_E_REGISTRY_"), stopped
    statistics = minter.end()
    assert statistics["healthy"] == 0 and statistics["renewal_failures"] >= 1


def test_a_holder_whose_row_was_deleted_stops_with_its_window_until_adoption(windowed):
    minter = windowed.minter(**STEADY)
    minter.wait_made(500)
    windowed.meddle("DROP TRIGGER firn_worker_stays", "DELETE FROM firn_worker")
    stopped = minter.expect("stop", 0, "FIRN_E_REGISTRY_CORRUPT")
    assert "the realm counts 1 workers, but only 0" in stopped.line
    made = minter.made()
    status, _ = windowed.minter().refusal()
    assert status == "FIRN_E_REGISTRY_CORRUPT" and minter.made() == made
    firn("workers", "adopt", "--reason", "a row was lost", "--registry", windowed.url)
    floor_ms = windowed.query("SELECT floor_ms FROM firn_realm")[0][0]
    assert floor_ms > last_ms(stopped)
    flowing = minter.expect("flow", 0)
    assert tick_ms(int(flowing.fields[1])) >= floor_ms
    minter.end()
    judge([minter.out])


def test_a_holder_never_stamps_with_a_layout_that_its_realm_no_longer_has(windowed):
    # R1. Worker 1 of the old layout and worker 4 of the new one share their bits.
    old = windowed.minter(url=windowed.static_url(1), block=256)
    old.wait_made(500)
    windowed.meddle("UPDATE firn_realm SET layout = 't41w12s10@2025-01-01'")
    mark_ms = windowed.row(1)["mark_ms"]
    wait_until(lambda: time.time() * 1000 > mark_ms + WINDOW_MS, "its window is over")
    new = windowed.minter(url=windowed.static_url(4), mode="wait", count=20000, block=256)
    new.finish()
    old.end()
    assert tick_ms(old.ids()[-1]) < mark_ms, old.story()
    judge(windowed.files())


# What a person reads.

def is_whole(text):
    """Whether a text that was read with surrogateescape is valid UTF-8."""
    return not any("\udc80" <= letter <= "\udcff" for letter in text)


@pytest.mark.parametrize("pad", ["", "x"])
def test_a_long_path_is_never_cut_inside_a_letter(registry, pad):
    # Two lengths, one of which has a two-byte letter at whatever offset a text is cut.
    path = registry.folder / (pad + "\u00e4" * 120)
    _, text = registry.minter(url=f"sqlite:{path}", create=0).refusal()
    assert is_whole(text), text


@pytest.fixture
def short_folder():
    folder = new_folder("firn-")
    yield folder
    remove_folder(folder)


def test_the_state_of_a_handle_is_never_cut_inside_a_letter(registry, short_folder):
    # The text ends in a hint with a letter of three bytes; names of every length around the cut.
    identity = Registry(short_folder).init().query("SELECT identity FROM firn_realm")[0][0]
    rest = len(f"registry {short_folder}/: another file lies there now ({identity}, not {identity}):"
               ' if no other copy is in use: firn workers adopt --reason "')
    minters = []
    for room in range(STATE_TEXT_SIZE - 6, STATE_TEXT_SIZE + 2):
        each = Registry(short_folder, "x" * (room - rest)).init("--window", f"{TIMEOUT_MS}ms")
        each.minters = registry.minters
        minters.append(each.minter(out=registry.folder / f"ids-{room}", block=1, pause_us=2000))
        minters[-1].wait_made(1)
        copy = short_folder / "copy"
        shutil.copyfile(each.path, copy)
        copy.rename(each.path)
    stopped = [minter.expect("stop", 0, "FIRN_E_REGISTRY_MOVED") for minter in minters]
    assert any("adopt --reason" in each.line for each in stopped), stopped
    assert [each for each in stopped if not is_whole(each.line)] == []
