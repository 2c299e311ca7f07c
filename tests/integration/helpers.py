# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The firn authors
"""What the tests of real processes share: minters to start and kill, registries, clocks to fake.

Nothing here sleeps for a guessed time: it waits for an event, with a deadline.
"""
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
from array import array
from pathlib import Path

import pytest

FIRN = Path(os.environ["FIRN_BIN"]).resolve()
BUILD = Path(os.environ.get("FIRN_BUILD_DIR", FIRN.parents[2]))
SOURCE = Path(os.environ.get("FIRN_SOURCE_DIR", Path(__file__).resolve().parents[2]))
PROGRAMS = BUILD / "tests" / "integration"
SCALE = float(os.environ.get("FIRN_TEST_SCALE", "1"))
LAYOUT = "t41w10s12@2025-01-01"
EPOCH_MS = 1735689600000
IDS_PER_TICK = 4096
DEADLINE_S = 60
LOOK_S = 0.002
LIBFAKETIME = next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))), None)

CACHE = BUILD / "CMakeCache.txt"
needs_plain_fork = pytest.mark.skipif(
    CACHE.exists() and "-fsanitize=address" in CACHE.read_text(),
    reason="gcc's AddressSanitizer can hold its allocator's lock for ever after fork() beside threads")
needs_faketime = pytest.mark.skipif(LIBFAKETIME is None, reason="libfaketime is not installed")


def scaled(count):
    """A number of repetitions, at the scale asked for; at least 1."""
    return max(1, int(count * SCALE))


def dice(request):
    """Random numbers that replay: the seed is printed, and FIRN_TEST_SEED gives it again."""
    seed = int(os.environ.get("FIRN_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"FIRN_TEST_SEED={seed} in {request.node.name}")
    return random.Random(seed)


def wait_until(condition, what, deadline_s=DEADLINE_S):
    """Looks again and again until a condition holds; its value, or a failure at the deadline."""
    end = time.monotonic() + deadline_s
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, \
            f"not within {deadline_s} s: {what() if callable(what) else what}"
        time.sleep(LOOK_S)


def tick_ms(made):
    """The Unix millisecond of an id."""
    return (made >> 22) + EPOCH_MS


def worker_of(made):
    return made >> 12 & 1023


def sequence_of(made):
    return made & 4095


def environment(**more):
    """The environment of a program under test: nothing of the user's own registry."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("FIRN_")}
    # A preloaded library comes before the sanitizer's own, which is fine.
    if "ASAN_OPTIONS" in env or "asan" in BUILD.name:
        env["ASAN_OPTIONS"] = f"{env.get('ASAN_OPTIONS', '')}:verify_asan_link_order=0".lstrip(":")
    return {**env, "LC_ALL": "C.UTF-8", "TZ": "UTC", **more}


class Clock:
    """A clock that a process is started with: fixed, moved by seconds, or moved while it runs."""

    # Far enough ahead that a year back is after the library's build date.
    BASE_S = 400 * 86400

    def __init__(self, shift_s=0.0, at=None, file=None):
        self.shift_s = shift_s
        self.at = at
        self.file = file
        if file is not None:
            self.set(shift_s)

    def _text(self):
        return self.at if self.at is not None else f"{self.BASE_S + self.shift_s:+.6f}"

    def set(self, shift_s):
        """Moves a clock that is kept in a file, at once."""
        self.shift_s = shift_s
        fresh = self.file.with_suffix(".new")
        fresh.write_text(self._text() + "\n")
        fresh.rename(self.file)

    def now_ms(self):
        return int((time.time() + self.BASE_S + self.shift_s) * 1000)

    def env(self):
        moved = {"LD_PRELOAD": str(LIBFAKETIME), "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                 "NO_FAKE_STAT": "1"}
        if self.file is None:
            return {**moved, "FAKETIME": self._text()}
        return {**moved, "FAKETIME_TIMESTAMP_FILE": str(self.file), "FAKETIME_NO_CACHE": "1"}


class Event:
    """A line that a minter said: its word, its fields, and the text for people that ends it."""

    FIELDS = {"open": 2, "stop": 3}

    def __init__(self, line):
        self.line = line
        words = line.split(" ")
        count = self.FIELDS.get(words[0], len(words)) + 1
        self.word, *self.fields = words[:count]
        self.text = " ".join(words[count:])

    def __repr__(self):
        return self.line


class Minter:
    """A running minter.c."""

    def __init__(self, url, out, clock=None, env=None, **settings):
        self.out = Path(out)
        words = [f"{name}={value}" for name, value in settings.items() if value is not None]
        full = environment(**(clock.env() if clock else {}), **(env or {}))
        self.process = subprocess.Popen(
            [PROGRAMS / "minter", f"url={url}", f"out={out}", *words], env=full,
            stdin=subprocess.PIPE if settings.get("gate") else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            errors="surrogateescape", start_new_session=True)
        self.events = []
        self.taken = 0
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            with self.changed:
                self.events.append(Event(line.rstrip("\n")))
                self.changed.notify_all()
        with self.changed:
            self.events.append(None)
            self.changed.notify_all()

    def expect(self, word, *fields, deadline_s=DEADLINE_S):
        """The next event with this word (and fields) since the last one expected."""
        end = time.monotonic() + deadline_s
        with self.changed:
            while True:
                for at in range(self.taken, len(self.events)):
                    event = self.events[at]
                    if event is None:
                        raise AssertionError(f"ended without '{word}': {self.story()}")
                    if event.word == word and all(str(a) == b for a, b in zip(fields, event.fields)):
                        self.taken = at + 1
                        return event
                left = end - time.monotonic()
                assert left > 0, f"no '{word} {fields}' within {deadline_s} s: {self.story()}"
                self.changed.wait(left)

    def said(self, word):
        """All events with this word so far."""
        with self.changed:
            return [event for event in self.events if event is not None and event.word == word]

    def story(self):
        return [str(event) for event in self.events]

    def pids(self):
        """Its processes, by the number of their first lane."""
        forked = {int(event.fields[0]): int(event.fields[1]) for event in self.said("lanes")}
        return {0: self.process.pid, **forked}

    def files(self):
        return sorted(path for path in self.out.parent.glob(self.out.name + "*")
                      if re.fullmatch(re.escape(self.out.name) + r"(\.\d+)?", path.name))

    def made(self):
        """How many ids are in its files now."""
        return sum(path.stat().st_size for path in self.files()) // 8

    def wait_made(self, count, deadline_s=DEADLINE_S):
        wait_until(lambda: self.made() >= count or self.process.poll() is not None,
                   lambda: f"{count} ids: {self.story()}", deadline_s)
        assert self.made() >= count, self.story()

    def wait_more(self, count=1):
        self.wait_made(self.made() + count)

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        """Stops it as SIGSTOP does, and waits until it stands."""
        self.signal(signal.SIGSTOP)
        status = Path(f"/proc/{self.process.pid}/stat")

        def state():
            assert self.process.poll() is None, (self.process.stderr.read(), self.story())
            return status.read_text().rsplit(")", 1)[1].split()[0]

        wait_until(lambda: state() == "T", "it stands")

    def kill(self):
        self.signal(signal.SIGKILL)
        self.wait()

    def clear(self):
        """Leaves nothing of it behind, whatever became of the test: its children too."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.reader.join(DEADLINE_S)
        self.process.stdout.close()
        self.process.stderr.close()
        # What libfaketime keeps for a process; a later one with its pid would trip over it.
        for name in ("faketime_shm_", "sem.faketime_sem_"):
            Path(f"/dev/shm/{name}{self.process.pid}").unlink(missing_ok=True)

    def wait(self, deadline_s=DEADLINE_S):
        """Waits until it and its children have ended; its exit code."""
        code = self.process.wait(timeout=deadline_s)
        self.reader.join(deadline_s)
        assert not self.reader.is_alive(), "its children go on"
        return code

    def finish(self, deadline_s=DEADLINE_S):
        """Waits for its good end; the statistics of its first process."""
        code = self.wait(deadline_s)
        assert code == 0, (code, self.process.stderr.read(), self.story())
        return self.statistics()

    def end(self):
        """Asks it to end, as SIGTERM does; the statistics of its first process."""
        self.signal(signal.SIGTERM)
        return self.finish()

    def refusal(self):
        """It could not open: the status, and what it said to a person."""
        code = self.wait()
        opened = self.said("open")
        assert code == 1 and len(opened) == 1, (code, self.process.stderr.read(), self.story())
        return opened[0].fields[0], opened[0].text

    def statistics(self, lane=0):
        line = next(e.line for e in self.said("end") if e.fields[0] == str(lane))
        pairs = (word.split("=", 1) for word in line.split(" ")[2:])
        return {name: int(value) if value.isdigit() else value for name, value in pairs}

    def ids(self):
        """The ids of its one file."""
        return read_ids(self.out)


def read_ids(path):
    ids = array("Q")
    data = path.read_bytes()
    ids.frombytes(data[:len(data) // 8 * 8])
    return ids


class Registry:
    """A SQLite registry in a folder of its own, as the tests look at it."""

    def __init__(self, folder, name="registry.db", **options):
        self.folder = Path(folder)
        self.path = self.folder / name
        self.url = f"sqlite:{self.path}"
        self.minters = []
        self.options = options

    def init(self, *args):
        firn("init", "--registry", self.url, *args)
        return self

    def static_url(self, worker):
        return f"static:{worker}?path={self.path}"

    def minter(self, out=None, url=None, **settings):
        out = out or self.folder / f"ids-{len(self.minters):04}"
        minter = Minter(url or self.url, out, **{"create": 1, **self.options, **settings})
        self.minters.append(minter)
        return minter

    def files(self):
        return [path for minter in self.minters for path in minter.files()]

    def query(self, sql):
        connection = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=DEADLINE_S)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def meddle(self, *statements):
        """What somebody does to the file with another program."""
        connection = sqlite3.connect(self.path, timeout=DEADLINE_S)
        try:
            for statement in statements:
                connection.execute(statement)
            connection.commit()
        finally:
            connection.close()

    def row(self, worker):
        rows = self.query("SELECT mark_ms, released, counter, note FROM firn_worker"
                          f" WHERE worker = {int(worker)}")
        assert len(rows) == 1, (worker, rows)
        return dict(zip(("mark_ms", "released", "counter", "note"), rows[0]))

    def workers_used(self):
        return self.query("SELECT workers_used FROM firn_realm")[0][0]

    def is_locked(self):
        """Whether somebody is inside a transaction that writes."""
        connection = sqlite3.connect(self.path, timeout=0.2, isolation_level=None)
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
            return False
        except sqlite3.OperationalError:
            return True
        finally:
            connection.close()

    def stop_outside(self, minter):
        """Stops a process while it is not inside the registry, where it would hold all others up."""
        minter.stop()
        while self.is_locked():
            minter.signal(signal.SIGCONT)
            minter.wait_more()
            minter.stop()

    def lock(self):
        """What a process does that is stopped in the middle of a transaction. Close it to end."""
        connection = sqlite3.connect(self.path, timeout=DEADLINE_S, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        return connection

    def wait_lapse(self, worker, clock=None):
        """Waits until a worker's mark has passed."""
        mark_ms = self.row(worker)["mark_ms"]
        now_ms = clock.now_ms if clock else lambda: time.time() * 1000
        wait_until(lambda: now_ms() > mark_ms + 1, "the mark passes")

    def close(self):
        for minter in self.minters:
            minter.clear()


class Verdict:
    """What check_ids found."""

    def __init__(self, text):
        self.text = text
        for name in ("total", "distinct", "duplicates", "unsorted", "torn", "ticks", "full_ticks",
                     "tick_most"):
            setattr(self, name, int(re.search(rf"^{name}=(\d+)$", text, re.M)[1]))
        listed = re.search(r"^workers=(.*)$", text, re.M)[1]
        self.workers = [int(word) for word in listed.split(",") if word]


def judge(files, layout=LAYOUT, is_sorted=True):
    """All ids of these files are distinct, or the test fails and says which are not."""
    files = list(files)
    assert files, "no file to judge"
    done = subprocess.run([PROGRAMS / "check_ids", layout, *files], capture_output=True, text=True,
                          env=environment(), timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    verdict = Verdict(done.stdout)
    assert verdict.distinct == verdict.total > 0, done.stdout
    assert not is_sorted or verdict.unsorted == 0, done.stdout
    return verdict


def firn(*args, code=0, clock=None, **env):
    """Runs the firn command; what it printed."""
    done = subprocess.run([FIRN, *args], capture_output=True, text=True, timeout=DEADLINE_S,
                          stdin=subprocess.DEVNULL,
                          env=environment(**(clock.env() if clock else {}), **env))
    assert done.returncode == code, (args, done.returncode, done.stdout, done.stderr)
    return done.stdout if code == 0 else done.stderr


def new_folder(prefix):
    """A folder that other users can enter, unlike pytest's."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    folder.chmod(0o755)
    return folder


def remove_folder(folder):
    folder.chmod(0o755)
    shutil.rmtree(folder)
