# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The firn authors
"""Registries that fail, fill up, are copied, meddled with, or are none. Ids flow until the window
ends, then there is a clear error, then they flow again; never a duplicate."""
import errno
import os
import shutil
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from helpers import (DEADLINE_S, PROGRAMS, Minter, Registry, dice, environment, firn, judge,
                     new_folder, remove_folder, scaled, tick_ms, wait_until)

WINDOW_MS = 300
DISK_SIZE = "256k"
NOBODY = 65534
FAULTS = {"full-at-write": ("write", errno.ENOSPC), "bad-at-write": ("write", errno.EIO),
          "full-at-flush": ("sync", errno.ENOSPC), "bad-at-flush": ("sync", errno.EIO),
          "lost-reply": ("late", errno.EIO)}
DISK_STATUSES = {"FIRN_E_REGISTRY_IO", "FIRN_E_REGISTRY_ACCESS"}


class Disk:
    """A disk under the registry that fails when it is told to."""

    def __init__(self, registry):
        self.control = registry.folder / "faults"
        self.env = {"LD_PRELOAD": str(PROGRAMS / "faults.so"), "FAULTS_PATH": registry.path.name,
                    "FAULTS_CONTROL": str(self.control)}

    def fail(self, kind, reason):
        fresh = self.control.with_suffix(".new")
        fresh.write_text(f"{kind} {reason}\n")
        fresh.rename(self.control)

    def heal(self):
        self.control.unlink()


@pytest.fixture
def disk(registry):
    registry.init("--window", f"{WINDOW_MS}ms")
    disk = Disk(registry)
    registry.options["env"] = disk.env
    return disk


@pytest.mark.parametrize("renewal", ["demand", "thread"])
@pytest.mark.parametrize("kind,reason", FAULTS.values(), ids=FAULTS)
def test_a_failing_disk_lets_ids_flow_until_the_window_ends_and_again_when_it_is_whole(
        registry, disk, kind, reason, renewal):
    minter = registry.minter(renewal=renewal, block=64, pause_us=100)
    minter.wait_made(1000)
    disk.fail(kind, reason)
    failed_ms = time.time() * 1000
    stopped = minter.expect("stop", 0)
    end_ms = time.time() * 1000
    assert stopped.fields[1] in DISK_STATUSES, stopped
    assert str(registry.path) in stopped.line and "disk" in stopped.line
    # Nothing is stamped beyond the window that was durable when the disk failed.
    assert tick_ms(int(stopped.fields[2])) <= failed_ms + WINDOW_MS + 1
    assert end_ms - failed_ms < 10 * WINDOW_MS + 2000
    disk.heal()
    minter.expect("flow", 0)
    minter.wait_more(1000)
    statistics = minter.end()
    assert statistics["renewal_failures"] >= 1 and statistics["healthy"] == 1
    judge(registry.files())


def test_a_disk_that_fails_and_heals_at_random_under_many_processes_never_repeats(registry, disk,
                                                                                  request):
    random = dice(request)
    registry.options.update(renewal="thread", window_ms=60, block=16, pause_us=100)
    running = [registry.minter() for _ in range(3)]
    for minter in running:
        minter.expect("open")
    for _ in range(scaled(25)):
        disk.fail(*random.choice(list(FAULTS.values())))
        halts = len(running[0].said("stop"))
        made = running[0].made()
        wait_until(lambda: len(running[0].said("stop")) > halts
                   or running[0].made() > made + random.randrange(400), "a moment of failure")
        if random.random() < 0.3:
            victim = random.randrange(1, len(running))
            running[victim].kill()
            disk.heal()
            running[victim] = registry.minter()
            running[victim].expect("open")
        else:
            disk.heal()
        running[0].wait_more(200)
    for minter in running:
        minter.end()
    judge(registry.files(), is_sorted=False)


def test_a_lost_reply_is_counted_and_what_it_reserved_is_burned(registry, disk):
    minter = registry.minter(renewal="demand", block=16, pause_us=200)
    minter.wait_made(100)
    disk.fail("late", errno.EIO)
    minter.expect("stop", 0)
    disk.heal()
    minter.expect("flow", 0)
    minter.wait_more(100)
    statistics = minter.end()
    assert statistics["lost_replies"] >= 1
    judge(registry.files())


@pytest.fixture
def small_disk(tmp_path):
    """A real file system that can be filled; only root may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_SIZE}", "none", folder]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("only root, with the right to mount, can have a full disk of its own")
    yield folder
    # Lazily: a process that this test failed to end must not keep the mount for ever.
    subprocess.run(["umount", "-l", folder], check=True)


def fill(folder):
    """Fills a file system to its last byte."""
    with open(folder / "ballast", "ab", buffering=0) as ballast:
        for size in (65536, 4096, 1):
            try:
                while True:
                    ballast.write(bytes(size))
            except OSError as reason:
                assert reason.errno == errno.ENOSPC


def test_a_full_disk_is_survived_or_said_and_ids_flow_again_when_there_is_room(registry, small_disk):
    full = Registry(small_disk).init("--window", f"{WINDOW_MS}ms")
    registry.minters = full.minters
    holder = full.minter(out=registry.folder / "holder", block=64, pause_us=100)
    holder.wait_made(1000)
    fill(small_disk)
    # A mark is written in place, but the journal that makes it durable needs room.
    stopped = holder.expect("stop", 0)
    assert stopped.fields[1] in DISK_STATUSES and "full" in stopped.line, stopped
    status, text = full.minter(out=registry.folder / "second", block=64).refusal()
    assert status in DISK_STATUSES and "full" in text, text
    (small_disk / "ballast").unlink()
    holder.expect("flow", 0)
    holder.wait_more(1000)
    holder.end()
    judge([holder.out])


def test_a_new_registry_on_a_full_disk_is_refused_clearly_and_made_later(registry, small_disk):
    full = Registry(small_disk)
    registry.minters = full.minters
    fill(small_disk)
    status, text = full.minter(out=registry.folder / "early").refusal()
    assert status in DISK_STATUSES and str(full.path) in text
    (small_disk / "ballast").unlink()
    later = full.minter(out=registry.folder / "later", count=1000)
    later.finish()
    judge([later.out])


@pytest.mark.parametrize("renewal", ["demand", "thread"])
def test_a_registry_locked_by_a_stopped_process_is_waited_for_then_said(registry, renewal):
    registry.init("--window", f"{WINDOW_MS}ms")
    minter = registry.minter(renewal=renewal, timeout_ms=100, block=16, pause_us=100)
    minter.wait_made(100)
    lock = registry.lock()
    stopped = minter.expect("stop", 0)
    assert stopped.fields[1] == "FIRN_E_REGISTRY_BUSY" and str(registry.path) in stopped.line
    lock.close()
    minter.expect("flow", 0)
    minter.wait_more(100)
    minter.end()
    judge(registry.files())


def mint(registry, count=3000, **settings):
    minter = registry.minter(count=count, **settings)
    minter.finish()
    return minter


def test_a_copy_is_refused_until_adopted_and_then_repeats_nothing(registry):
    registry.init("--window", "500ms", "--workers", "0-3")
    original = registry.minter(renewal="thread", block=64, threads=1)
    original.wait_made(20000)
    copy = Registry(registry.folder, "copy.db")
    copy.minters = registry.minters
    shutil.copyfile(registry.path, copy.path)
    original.wait_more(20000)
    original.kill()
    status, text = copy.minter().refusal()
    assert status == "FIRN_E_REGISTRY_MOVED"
    assert "copy" in text and "adopt" in text
    assert "copy" in firn("gen", "--registry", copy.url, code=3)
    # The copy knows less than the original granted: adoption must make up for it.
    before = copy.row(0)["mark_ms"]
    firn("workers", "adopt", "--reason", "moved to another disk", "--registry", copy.url)
    assert copy.row(0)["mark_ms"] >= max(before, time.time() * 1000) + 500
    adopted = [copy.minter(mode="wait", count=20000, worker=worker) for worker in range(4)]
    for minter in adopted:
        minter.finish()
    assert judge(registry.files()).workers == [0, 1, 2, 3]
    assert "moved to another disk" in copy.query("SELECT event FROM firn_log")[0][0]


def test_a_holder_whose_registry_was_replaced_by_a_copy_stops_with_its_window(registry):
    registry.init("--window", f"{WINDOW_MS}ms")
    minter = registry.minter(block=64, pause_us=100)
    minter.wait_made(1000)
    lock = registry.lock()
    shutil.copyfile(registry.path, registry.folder / "copy.db")
    (registry.folder / "copy.db").rename(registry.path)
    replaced_ms = time.time() * 1000
    lock.close()
    stopped = minter.expect("stop", 0)
    assert stopped.fields[1].startswith("FIRN_E_REGISTRY_"), stopped
    assert tick_ms(int(stopped.fields[2])) <= replaced_ms + WINDOW_MS + 1
    minter.end()


def test_a_registry_that_is_removed_stops_ids_with_their_window(registry):
    registry.init("--window", f"{WINDOW_MS}ms")
    minter = registry.minter(block=64, pause_us=100)
    minter.wait_made(1000)
    registry.path.unlink()
    removed_ms = time.time() * 1000
    stopped = minter.expect("stop", 0)
    assert stopped.fields[1].startswith("FIRN_E_REGISTRY_"), stopped
    assert tick_ms(int(stopped.fields[2])) <= removed_ms + WINDOW_MS + 1
    # It never makes a new one by itself: that could repeat ids.
    assert not registry.path.exists()
    minter.end()


def test_a_deleted_row_is_refused_until_adopted(registry):
    registry.init("--window", f"{WINDOW_MS}ms")
    for _ in range(2):
        mint(registry)
    registry.meddle("DROP TRIGGER firn_worker_stays", "DELETE FROM firn_worker WHERE worker = 0")
    status, text = registry.minter().refusal()
    assert status == "FIRN_E_REGISTRY_CORRUPT" and "missing mark" in text
    firn("gen", "--registry", registry.url, code=3)
    firn("workers", "adopt", "--reason", "row lost", "--registry", registry.url)
    mint(registry, mode="wait")
    judge(registry.files())


def test_rows_and_marks_are_guarded_by_the_file_itself(registry):
    mint(registry)
    for statement in ("DELETE FROM firn_worker", "DELETE FROM firn_realm",
                      "UPDATE firn_worker SET mark_ms = mark_ms - 1"):
        with pytest.raises(sqlite3.IntegrityError, match="a mark|a realm"):
            registry.meddle(statement)


def test_a_registry_of_a_newer_firn_is_refused_and_left_alone(registry):
    mint(registry)
    registry.meddle("PRAGMA user_version = 99")
    before = registry.path.read_bytes()
    status, text = registry.minter().refusal()
    assert status == "FIRN_E_REGISTRY_NEWER" and "99" in text and str(registry.path) in text
    firn("gen", "--registry", registry.url, code=3)
    assert registry.path.read_bytes() == before


def test_another_layout_is_refused_with_both(registry):
    mint(registry)
    status, text = registry.minter(layout="t41w13s10@2025-01-01").refusal()
    assert status == "FIRN_E_REALM_LAYOUT"
    assert "t41w10s12@2025-01-01" in text and "t41w13s10@2025-01-01" in text
    mint(registry, layout="t41w10s12@2025-01-01")
    judge(registry.files())


def test_a_holder_whose_realm_changes_its_layout_is_fenced(registry):
    # The layout stands in the record that every swap compares (R1).
    registry.init("--window", f"{WINDOW_MS}ms")
    minter = registry.minter(block=64, pause_us=100)
    minter.wait_made(1000)
    registry.meddle("UPDATE firn_realm SET layout = 't41w13s10@2025-01-01'")
    changed_ms = time.time() * 1000
    stopped = minter.expect("stop", 0, deadline_s=10)
    assert stopped.fields[1] in ("FIRN_E_REALM_LAYOUT", "FIRN_E_REGISTRY_MOVED",
                                 "FIRN_E_REGISTRY_BUSY"), stopped
    assert tick_ms(int(stopped.fields[2])) <= changed_ms + WINDOW_MS + 1
    minter.end()
    judge(registry.files())


def test_a_registry_in_a_missing_folder_is_refused_and_no_folder_made(registry):
    lost = Registry(registry.folder / "not" / "there")
    lost.minters = registry.minters
    status, text = lost.minter(out=registry.folder / "ids").refusal()
    assert status == "FIRN_E_REGISTRY_ACCESS" and "No such file or directory" in text
    assert not (registry.folder / "not").exists()


def test_a_missing_registry_is_not_made_unless_asked_for(registry):
    status, text = registry.minter(create=0).refusal()
    assert status == "FIRN_E_REGISTRY_MISSING" and "firn init" in text
    assert not registry.path.exists()


@pytest.fixture
def locked_folder():
    """A folder that another user may read and not write; root must become that user to see it."""
    folder = new_folder("firn-read-only-")
    yield folder
    remove_folder(folder)


def refused_to_others(folder, create):
    """What a minter of an unprivileged user is told about a registry in a read-only folder."""
    program = folder / "minter"
    shutil.copy(PROGRAMS / "minter", program)
    out = new_folder("firn-out-")
    out.chmod(0o777)
    folder.chmod(0o555)
    try:
        done = subprocess.run(
            [program, f"url=sqlite:{folder}/registry.db", f"out={out}/ids", f"create={create}",
             "count=10"], capture_output=True, text=True, timeout=DEADLINE_S, env=environment(),
            **({"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}))
        assert done.returncode == 1, (done.stdout, done.stderr)
        opened = next(line for line in done.stdout.splitlines() if line.startswith("open "))
        return opened.split(" ", 3)[1::2]
    finally:
        remove_folder(out)


def test_a_read_only_folder_is_refused_clearly(locked_folder):
    status, text = refused_to_others(locked_folder, create=1)
    assert status == "FIRN_E_REGISTRY_ACCESS" and str(locked_folder) in text


def test_a_read_only_registry_is_refused_clearly(locked_folder):
    registry = Registry(locked_folder).init()
    registry.path.chmod(0o444)
    status, text = refused_to_others(locked_folder, create=0)
    assert status == "FIRN_E_REGISTRY_ACCESS" and str(locked_folder) in text


NO_REGISTRIES = {
    "text": b"This is not a database, nor has it ever been one.\n" * 100,
    "short-text": b"colour = blue\n",
    "zeros": bytes(65536),
    "one-byte": b"x",
    "a-header-and-nothing": b"SQLite format 3\0",
}


@pytest.mark.parametrize("content", NO_REGISTRIES.values(), ids=NO_REGISTRIES)
def test_a_file_that_is_no_registry_is_refused_and_left_alone(registry, content):
    registry.path.write_bytes(content)
    status, text = registry.minter(count=10).refusal()
    assert status in ("FIRN_E_REGISTRY_FORMAT", "FIRN_E_REGISTRY_CORRUPT") and \
        str(registry.path) in text
    assert registry.path.read_bytes() == content


def test_somebody_elses_database_is_refused_and_left_alone(registry):
    registry.meddle("CREATE TABLE orders (id INTEGER)", "INSERT INTO orders VALUES (1)")
    before = registry.path.read_bytes()
    status, text = registry.minter().refusal()
    assert status == "FIRN_E_REGISTRY_FORMAT" and "not a firn registry" in text
    assert registry.path.read_bytes() == before


def test_a_folder_is_no_registry(registry):
    registry.path.mkdir()
    status, text = registry.minter().refusal()
    assert status in ("FIRN_E_REGISTRY_ACCESS", "FIRN_E_REGISTRY_FORMAT") and \
        str(registry.path) in text


def test_a_damaged_registry_is_refused_or_unharmed_and_never_repeats(registry, request):
    # Pages overwritten at random: any status is fine, but no id twice and no crash.
    random = dice(request)
    mint(registry)
    whole = registry.path.read_bytes()
    for _ in range(scaled(30)):
        damaged = bytearray(whole)
        at = random.randrange(len(damaged) - 64)
        damaged[at:at + 64] = random.randbytes(64)
        # In place, so that it stays the same file.
        with open(registry.path, "r+b") as file:
            file.write(damaged)
        minter = registry.minter(count=100, timeout_ms=500)
        code = minter.wait(DEADLINE_S)
        assert code in (0, 1), (code, minter.story())
        assert code == 0 or minter.said("open")[0].fields[0].startswith("FIRN_E_"), minter.story()
        with open(registry.path, "r+b") as file:
            file.write(whole)
            file.truncate(len(whole))
