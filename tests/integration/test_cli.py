# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The firn authors
"""The firn command as a user meets it: every command, every example of --help, bad input, pipes.

FIRN_BIN names the binary. Each test has a state folder of its own; nothing outside it is touched.
"""
import json
import os
import pty
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

FIRN = os.environ["FIRN_BIN"]
VECTORS = Path(__file__).resolve().parent.parent / "vectors"
DEFAULT_LAYOUT = "t41w10s12@2025-01-01"
SEED_ID = "236065495965528067"
SEED_BASE32 = "06HNCA5FC0W03"
COMMANDS = ["gen", "explain", "range", "layout", "init", "workers", "doctor", "bench", "help",
            "completion"]
DEADLINE_S = 60


class Cli:
    """Runs firn in an environment of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.env = {
            "PATH": f"{folder}/bin:{os.environ['PATH']}",
            "HOME": str(folder),
            "XDG_STATE_HOME": str(folder / "state"),
            "TZ": "UTC",
            "TERM": "xterm",
            "LC_ALL": "C.UTF-8",
        }
        # The sanitizers' options and the path of a shared library built elsewhere stay.
        for name in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "LD_LIBRARY_PATH"):
            if name in os.environ:
                self.env[name] = os.environ[name]
        (folder / "bin").mkdir()
        (folder / "bin" / "firn").symlink_to(Path(FIRN).resolve())

    @property
    def default_path(self):
        return self.folder / "state" / "firn" / "registry.db"

    def run(self, *args, code=0, stdin=None, **env):
        done = subprocess.run([FIRN, *args], cwd=self.folder, env={**self.env, **env}, text=True,
                              input=stdin, stdin=subprocess.DEVNULL if stdin is None else None,
                              capture_output=True, timeout=DEADLINE_S)
        assert done.returncode == code, (args, done.returncode, done.stdout, done.stderr)
        return done

    def out(self, *args, **options):
        done = self.run(*args, **options)
        assert done.stderr == "", (args, done.stderr)
        return done.stdout

    def ids(self, *args, **options):
        return [int(line) for line in self.out("gen", *args, **options).splitlines()]

    def json(self, *args, **options):
        return [json.loads(line) for line in self.run(*args, "--json", **options).stdout.splitlines()]

    def wrong(self, *args, code=2, **options):
        """The one line that a failing command says."""
        done = self.run(*args, code=code, **options)
        assert done.stdout == "", (args, done.stdout)
        lines = done.stderr.splitlines()
        assert len(lines) == 1 and lines[0].startswith("firn: "), (args, done.stderr)
        return lines[0]

    def shell(self, line, code=0, shell=("bash", "-o", "pipefail", "-c")):
        done = subprocess.run([*shell, line], cwd=self.folder, env=self.env, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE_S)
        assert done.returncode == code, (line, done.returncode, done.stdout, done.stderr)
        return done

    def terminal(self, *args, **env):
        """What firn writes to a terminal."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen([FIRN, *args], cwd=self.folder, env={**self.env, **env},
                                   stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs)
        os.close(theirs)
        text = b""
        try:
            while chunk := os.read(ours, 65536):
                text += chunk
        except OSError:  # EIO: the other side was closed
            pass
        os.close(ours)
        assert process.wait(timeout=DEADLINE_S) == 0, text
        return text.decode().replace("\r\n", "\n")


@pytest.fixture
def cli(tmp_path):
    return Cli(tmp_path)


# gen

def test_gen_makes_one_decimal_id_of_now(cli):
    before_ms = time.time_ns() // 1000000
    [made] = cli.ids()
    assert before_ms <= (made >> 22) + 1735689600000 <= time.time_ns() // 1000000


def test_gen_makes_the_default_registry_at_its_first_use(cli):
    cli.ids()
    assert cli.default_path.is_file()
    wanted = 0o755 if os.geteuid() == 0 else 0o700
    assert cli.default_path.parent.stat().st_mode & 0o777 == wanted


@pytest.mark.parametrize("count", [1, 2, 999, 1000, 1001, 4096, 100000])
def test_gen_makes_exactly_as_many_as_asked_all_distinct_and_sorted(cli, count):
    ids = cli.ids("-n", str(count))
    assert len(ids) == count
    assert all(a < b for a, b in zip(ids, ids[1:]))


@pytest.mark.parametrize("form,size", [("decimal", None), ("decimal20", 20), ("hex", 16),
                                       ("base32", 13), ("base62", 11), ("base58", 11)])
def test_gen_writes_each_form_and_explain_reads_it_back(cli, form, size):
    texts = cli.out("gen", "-n", "20", "--format", form).splitlines()
    assert len(set(texts)) == 20
    if size is not None:
        assert {len(text) for text in texts} == {size}
        assert texts == sorted(texts)
    option = [] if form == "decimal" else ["--format", form]
    read = cli.json("explain", *option, *texts)
    ids = [int(each["id"]) for each in read]
    assert ids == sorted(ids) and len(set(ids)) == 20


def test_gen_json_gives_ids_as_strings_with_their_fields(cli):
    for each in cli.json("gen", "-n", "3"):
        made = int(each["id"])
        assert isinstance(each["id"], str)
        assert each["worker"] == made >> 12 & 1023
        assert each["sequence"] == made & 4095
        assert each["time_us"] == ((made >> 22) + 1735689600000) * 1000
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", each["time"])


def test_gen_in_many_processes_at_once_never_repeats(cli):
    cli.ids()
    counts = [1, 1, 500, 20000] * 4
    running = [subprocess.Popen([FIRN, "gen", "-n", str(count)], env=cli.env, cwd=cli.folder,
                                stdout=subprocess.PIPE, text=True) for count in counts]
    ids = []
    for process, count in zip(running, counts):
        lines = process.communicate(timeout=DEADLINE_S)[0].split()
        assert process.returncode == 0 and len(lines) == count
        ids += lines
    assert len(set(ids)) == sum(counts)


def test_gen_one_at_a_time_does_not_use_up_the_workers(cli):
    cli.run("init", "--workers", "0-15")
    ids = [cli.ids()[0] for _ in range(60)]
    assert len(set(ids)) == 60


def test_gen_uses_the_worker_asked_for(cli):
    assert {made >> 12 & 1023 for made in cli.ids("-n", "3", "--worker", "321")} == {321}
    assert {made >> 12 & 1023 for made in cli.ids("--registry", "static:7")} == {7}
    assert cli.default_path.is_file()


def test_gen_refuses_a_worker_that_another_process_holds(cli):
    with held_worker(cli, "--worker", "4"):
        text = cli.wrong("gen", "--worker", "4", "--timeout", "300ms", code=5)
        assert "worker" in text and "4" in text
        text = cli.wrong("gen", "--registry", "static:4", "--timeout", "300ms", code=5)
        assert "4" in text
        assert cli.ids()[0] >> 12 & 1023 != 4


def test_gen_waits_for_a_worker_and_gives_up_at_the_timeout(cli):
    cli.run("init", "--workers", "0-0")
    with held_worker(cli):
        began = time.monotonic()
        text = cli.wrong("gen", "--timeout", "700ms", code=5)
        assert 0.5 < time.monotonic() - began < 10
        assert "worker" in text


def test_gen_makes_a_new_default_realm_with_the_layout_asked_for(cli):
    ids = cli.ids("-n", "3", "--layout", "t41w3s19@2026-01-01")
    assert len(set(ids)) == 3
    text = cli.wrong("gen", "--layout", DEFAULT_LAYOUT, code=3)
    assert DEFAULT_LAYOUT in text and "t41w3s19@2026-01-01" in text


def test_gen_is_fast_enough_for_a_million(cli):
    # Far below what an idle machine does: it catches a batch lost at every tick, not a busy host.
    began = time.monotonic()
    text = cli.out("gen", "-n", "1000000")
    assert time.monotonic() - began < 10
    lines = text.splitlines()
    assert len(set(lines)) == 1000000


class held_worker:
    """A gen that blocks on a full pipe, and so keeps its worker."""

    def __init__(self, cli, *args):
        self.process = subprocess.Popen([FIRN, "gen", "-n", "1000000000", *args], env=cli.env,
                                        cwd=cli.folder, stdout=subprocess.PIPE)

    def __enter__(self):
        assert self.process.stdout.read(20), "no id"
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


# explain

def load_vectors():
    return json.loads((VECTORS / "ids.json").read_text())


@pytest.mark.parametrize("vector", load_vectors(), ids=lambda v: f"{v['preset']}-{v['id']}")
def test_explain_reads_public_ids_as_their_services_do(cli, vector):
    [read] = cli.json("explain", vector["id"], "--layout", vector["preset"])
    assert read["id"] == vector["id"]
    if vector["time"] is None:
        assert read["time"] is None
        return
    assert read["time"].rstrip("Z").startswith(vector["time"].rstrip("Z")[:19])
    names = {"d": "datacenter", "s": "sequence", "x": "unknown"}
    for letter, value in vector["fields"].items():
        name = names.get(letter, "worker_in_datacenter" if "d" in vector["fields"] else "worker")
        assert read[name] == value


def test_explain_reads_the_seeds_id(cli):
    [read] = cli.json("explain", SEED_ID)
    assert (read["id"], read["time"], read["worker"], read["sequence"], read["layout"]) == (
        SEED_ID, "2026-10-14T10:00:00.123Z", 7, 3, DEFAULT_LAYOUT)
    text = cli.out("explain", SEED_ID, TZ="Europe/Berlin")
    assert "2026-10-14T10:00:00.123Z" in text
    assert "2026-10-14T12:00:00.123+02:00" in text
    assert "0 00000110100011010101100010100010101111011 0000000111 000000000011" in text


@pytest.mark.parametrize("text,form", [(SEED_ID, None), (hex(int(SEED_ID)), None),
                                       (hex(int(SEED_ID)).upper().replace("X", "x"), None),
                                       (SEED_ID.zfill(20), "decimal20"),
                                       (f"{int(SEED_ID):016x}", "hex"), (SEED_BASE32, "base32"),
                                       (SEED_BASE32.lower(), "base32")])
def test_explain_reads_each_form(cli, text, form):
    option = [] if form is None else ["--format", form]
    assert cli.json("explain", text, *option)[0]["id"] == SEED_ID


def test_explain_reads_standard_input_a_line_each(cli):
    text = f"{SEED_ID}\n\n  255 \r\nnonsense\n256"
    for words in ([], ["-"]):
        done = cli.run("explain", *words, "--json", stdin=text, code=1)
        read = [json.loads(line) for line in done.stdout.splitlines()]
        assert [each.get("id") for each in read] == [SEED_ID, "255", None, "256"]
        assert read[2]["text"] == "nonsense" and "nonsense" in done.stderr
    assert cli.out("explain", stdin="") == ""


def test_explain_in_a_pipe_after_gen(cli):
    lines = cli.shell("firn gen -n 3 | firn explain --json").stdout.splitlines()
    assert len({json.loads(line)["id"] for line in lines}) == 3
    assert all(json.loads(line)["remarks"] for line in lines)


def test_explain_uses_the_registrys_layout_and_says_so(cli):
    assert "(the default)" in cli.out("explain", "255")
    assert not (cli.folder / "state").exists(), "explain made something"
    cli.run("init", "--layout", "t41w3s19@2026-01-01")
    assert "t41w3s19@2026-01-01 (the registry's)" in cli.out("explain", "255")
    assert "(as asked)" in cli.out("explain", "255", "--layout", DEFAULT_LAYOUT)
    cli.wrong("explain", "255", "--registry", "sqlite:none.db", code=3)
    (cli.folder / "text").write_text("not a registry\n" * 100)
    done = cli.run("explain", "255", FIRN_REGISTRY="sqlite:text")
    assert "note: " in done.stderr and "(the default)" in done.stdout


def test_explain_all_shows_the_plausible_presets_only(cli):
    [read] = cli.json("explain", "--all", "175928847299117063")
    times = {each["preset"]: each["time"] for each in read["plausible"]}
    assert times["discord"] == "2016-04-30T11:18:25.796Z"
    assert "mastodon" not in times and "yitter" not in times
    text = cli.out("explain", "--all", "175928847299117063")
    assert re.search(r"discord +2016-04-30T11:18:25.796Z +32 +7\n", text)
    assert "No preset" in cli.out("explain", "--all", "18446744073709551615")


def test_explain_gives_no_time_for_twitters_plain_counters(cli):
    for text in ("20", "29999999999"):
        [read] = cli.json("explain", text, "--layout", "twitter")
        assert read["time"] is None and "counter" in read["remarks"][0]
        assert "time  " not in cli.out("explain", text, "--layout", "twitter").split("\n\n")[1]
    assert cli.json("explain", "30000000000", "--layout", "twitter")[0]["time"] is not None
    # The same bits under another epoch are no tweets.
    assert cli.json("explain", "20", "--layout", "leaf")[0]["time"] is not None


def test_explain_reads_a_negative_bigint_under_a_64_bit_layout_only(cli):
    done = cli.run("explain", "-1", "--layout", "instagram", "--json")
    assert json.loads(done.stdout)["id"] == "18446744073709551615"
    assert json.loads(done.stdout)["signed"] == -1
    assert "18446744073709551615" in done.stderr
    done = cli.run("explain", "-9223372036854775808", "--layout", "discord", "--json")
    assert json.loads(done.stdout)["id"] == "9223372036854775808"
    assert "never negative" in cli.wrong("explain", "-5", code=1)
    assert "64-bit column" in cli.wrong("explain", "-9223372036854775809", code=1)


def test_explain_remarks_on_2_to_the_53_and_on_the_future(cli):
    assert cli.json("explain", str(2**53))[0]["remarks"] == []
    assert "2^53" in cli.json("explain", str(2**53 + 1))[0]["remarks"][0]
    remarks = cli.json("explain", str(2**63 - 1))[0]["remarks"]
    assert "future" in remarks[0] and "2^53" in remarks[1]
    assert "not yet" in cli.out("explain", str(2**63 - 1))


def presets():
    return [each["name"] for each in json.loads((VECTORS / "presets.json").read_text())]


@pytest.mark.parametrize("layout", presets() + ["t32w32@0", "t41s1@2025-01-01", "t53d1w1s9/1us@0"])
def test_pictures_fit_in_80_columns_and_show_every_bit(cli, layout):
    number = 1234567890123
    for words in (["explain", str(number), "--layout", layout], ["layout", layout]):
        text = cli.out(*words)
        assert max(map(len, text.splitlines())) <= 80
        widths = [int(each) for each in re.findall(r"^  \S  \S+ +(\d+) bits?\b", text, re.M)]
        assert sum(widths) == 64
    bits = re.search(r"^  ([01 ]{64,})$", cli.out("explain", str(number), "--layout", layout),
                     re.M).group(1)
    assert int(bits.replace(" ", ""), 2) == number
    assert [len(each) for each in bits.split()] == widths


def test_colour_is_for_terminals_alone_and_never_with_no_color(cli):
    plain = cli.out("explain", SEED_ID)
    coloured = cli.terminal("explain", SEED_ID)
    assert "\033[" in coloured and "\033[" not in plain
    without = re.sub(r"\033\[\d+m", "", coloured)
    skip_age = re.compile(r"  age .*\n")
    assert skip_age.sub("", without) == skip_age.sub("", plain)
    assert "\033[" not in cli.terminal("explain", SEED_ID, NO_COLOR="1")
    assert "\033[" in cli.terminal("explain", SEED_ID, NO_COLOR="")
    assert "\033[" not in cli.terminal("explain", SEED_ID, TERM="dumb")


# range

def test_range_holds_every_id_of_the_interval_and_no_other(cli):
    [found] = cli.json("range", "--from", "2026-10-14T10:00:00.123Z", "--to",
                       "2026-10-14T10:00:00.125Z")
    assert found["smallest"] == str(int(SEED_ID) >> 22 << 22)
    assert int(found["largest"]) == int(found["smallest"]) + 2 * 2**22 - 1
    assert int(found["smallest"]) <= int(SEED_ID) <= int(found["largest"])
    text = cli.out("range", "--from", "2026-10-14T10:00:00.123Z", "--to",
                   "2026-10-14T10:00:00.125Z")
    assert f"WHERE id BETWEEN {found['smallest']} AND {found['largest']}\n" in text


def test_range_without_an_end_goes_up_to_now(cli):
    [made] = cli.ids()
    [found] = cli.json("range", "--from", "-1h")
    assert int(found["smallest"]) < made <= int(found["largest"])


def test_range_writes_negative_bounds_for_signed_columns(cli):
    assert re.search(r"BETWEEN -\d+ AND -\d+", cli.out(
        "range", "--from", "2047-01-01", "--to", "2048-01-01", "--layout", "instagram"))
    across = cli.out("range", "--from", "2046-01-01", "--to", "2047-01-01", "--layout",
                     "instagram")
    [found] = cli.json("range", "--from", "2046-01-01", "--to", "2047-01-01", "--layout",
                       "instagram")
    assert f"id >= {found['smallest']} OR id <= {int(found['largest']) - 2**64}" in across


@pytest.mark.parametrize("args,words", [
    ([], ["--from"]),
    (["--from", "soon"], ["soon"]),
    (["--from", "2026-01-02", "--to", "2026-01-01"], ["2026-01-02", "2026-01-01", "empty"]),
    (["--from", "2026-01-01", "--to", "2026-01-01"], ["empty"]),
    (["--from", "2024-12-31"], ["2024-12-31", DEFAULT_LAYOUT, "2025-01-01"]),
    (["--from", "2026-01-01", "--to", "2095-01-01"], ["2095-01-01", "2094-09-07"]),
    (["--from", "-1h", "--layout", "t50w10s12"], ["72"]),
])
def test_range_says_what_is_wrong(cli, args, words):
    text = cli.wrong("range", *args)
    assert all(word in text for word in words), text


# layout

def test_layout_knows_the_seeds_dates(cli):
    [default] = cli.json("layout", DEFAULT_LAYOUT)
    assert default["end"].startswith("2094-09-07T15:47:35.552")
    assert default["negative_from"] is None
    assert default["past_2_53_from"].startswith("2025-01-25")
    assert (default["workers"], default["ids_per_tick"]) == ("1024", "4096")
    [from_1970] = cli.json("layout", "t41w10s12@1970-01-01")
    assert from_1970["end"].startswith("2039-09-07")
    [instagram] = cli.json("layout", "instagram")
    assert instagram["negative_from"].startswith("2046-06-27")
    assert instagram["end"].startswith("2081-04-30")


@pytest.mark.parametrize("layout,word", [
    ("baidu", "ended"), ("linkedin", "22 bits of unknown"), ("instagram", "negative"),
    ("twitter", "2^53"), ("t41w10s12@2031-01-01", "2031-01-01"),
])
def test_layout_warns(cli, layout, word):
    assert word in " ".join(cli.json("layout", layout)[0]["warnings"])
    assert word in " ".join(cli.out("layout", layout).split())


def test_layout_without_anything_to_beware_of_warns_of_nothing(cli):
    assert cli.json("layout", "t32w10s11/1s@2025-01-01")[0]["warnings"] == []


def test_layout_lists_every_preset_with_its_source(cli):
    wanted = json.loads((VECTORS / "presets.json").read_text())
    listed = cli.json("layout", "--list")
    assert [each["preset"] for each in listed] == [each["name"] for each in wanted]
    assert [each["layout"] for each in listed] == [each["layout"] for each in wanted]
    assert all(each["source"] for each in listed)
    text = cli.out("layout", "--list")
    assert all(each["name"] in text and each["layout"] in text for each in wanted)


# init and workers

def test_init_makes_a_realm_once_and_shows_it(cli):
    url = "sqlite:own.db"
    text = cli.out("init", "--registry", url, "--layout", "t41w13s10@2026-01-01", "--window",
                   "10s", "--grace", "2s", "--skew-max", "30s", "--workers", "5-9")
    assert all(word in text for word in (url, "t41w13s10@2026-01-01", "5 to 9", "10 s", "2 s",
                                         "30 s"))
    refused = cli.wrong("init", "--registry", url, code=3)
    assert "already" in refused and "t41w13s10@2026-01-01" in refused
    workers = {made >> 10 & 8191 for _ in range(4) for made in cli.ids("--registry", url)}
    assert workers <= set(range(5, 10))


def test_an_explicit_registry_is_never_made_silently(cli):
    text = cli.wrong("gen", "--registry", "sqlite:new.db", code=3)
    assert "firn init" in text
    assert not (cli.folder / "new.db").exists()
    text = cli.wrong("gen", code=3, FIRN_REGISTRY="sqlite:new.db")
    assert "firn init" in text
    assert not (cli.folder / "new.db").exists()
    assert "firn init" in cli.wrong("workers", "--registry", "sqlite:new.db", code=3)
    cli.run("init", FIRN_REGISTRY="sqlite:new.db")
    assert len(cli.ids(FIRN_REGISTRY="sqlite:new.db")) == 1
    assert not cli.default_path.exists()


def test_the_option_counts_more_than_the_variable(cli):
    cli.run("init", "--registry", "sqlite:a.db", "--layout", "t41w3s19@2026-01-01")
    cli.run("init", "--registry", "sqlite:b.db", "--layout", "t41w4s18@2026-01-01")
    [read] = cli.json("gen", "--registry", "sqlite:b.db", FIRN_REGISTRY="sqlite:a.db")
    assert read["layout"] == "t41w4s18@2026-01-01"


@pytest.mark.parametrize("name", ["a?b", "50%", "#1", "blank blank", "ümlaut", "a&b"])
def test_state_folders_with_odd_names_work(cli, name):
    state = cli.folder / name
    assert len(cli.ids(XDG_STATE_HOME=str(state))) == 1
    assert (state / "firn" / "registry.db").is_file()
    assert len(cli.ids("--registry", "static:3", XDG_STATE_HOME=str(state))) == 1
    assert f"{state}/firn/registry.db" in cli.run("doctor", XDG_STATE_HOME=str(state)).stdout \
        or " " in str(state)


def test_workers_shows_who_holds_what(cli):
    assert "no registry" in cli.wrong("workers", code=3)
    assert not (cli.folder / "state").exists(), "workers made something"
    with held_worker(cli) as held:
        [worker] = cli.json("workers")
        assert worker["state"] == "held"
        assert str(held.process.pid) in worker["note"]
        assert "1 held" in cli.out("workers")
    cli.ids("-n", "5000")
    states = {each["worker"]: each["state"] for each in cli.json("workers")}
    assert "released" in states.values()
    text = cli.out("workers")
    assert f"2 of 1024 numbers were ever used; layout {DEFAULT_LAYOUT}" in text


def test_workers_become_free_after_their_mark(cli):
    cli.ids()
    deadline = time.monotonic() + DEADLINE_S
    while cli.json("workers")[0]["state"] != "free":
        assert time.monotonic() < deadline
    assert " now " in cli.out("workers")


def test_a_copied_registry_is_refused_until_it_is_adopted(cli):
    cli.ids()
    shutil.copy(cli.default_path, cli.folder / "copy.db")
    text = cli.wrong("gen", "--registry", "sqlite:copy.db", code=3)
    assert "adopt" in text
    done = cli.run("workers", "--registry", "sqlite:copy.db")
    assert "note: " in done.stderr and "1 of 1024" in done.stdout
    assert "adopt" in cli.run("doctor", "--registry", "sqlite:copy.db", code=1).stdout
    cli.out("workers", "adopt", "--reason", "moved to a new disk", "--registry", "sqlite:copy.db")
    assert len(cli.ids("--registry", "sqlite:copy.db", "--timeout", "30s")) == 1


@pytest.mark.parametrize("args,word", [
    (["workers", "adopt"], "--reason"),
    (["workers", "adopt", "--reason", "  "], "--reason"),
    (["workers", "--reason", "x"], "adopt"),
    (["workers", "drop"], "drop"),
    (["init", "--window", "3"], "unit"),
    (["init", "--window", "-3s"], "unit"),
    (["init", "--window", "999d"], "at most"),
    (["init", "--grace", "fast"], "unit"),
    (["init", "--workers", "9-5"], "9-5"),
    (["init", "--workers", "0-1024"], "1023"),
    (["init", "--workers", ""], "range"),
    (["init", "--layout", "linkedin"], "unknown"),
    (["init", "--layout", "t41w10s12@2031-01-01"], "2031-01-01"),
])
def test_init_and_workers_say_what_is_wrong(cli, args, word):
    assert word in cli.wrong(*args)


# doctor

def test_doctor_finds_a_fresh_machine_in_order_and_makes_nothing(cli):
    text = cli.out("doctor")
    assert "none yet" in text and not (cli.folder / "state").exists()
    cli.ids()
    [found] = cli.json("doctor")
    levels = {each["check"]: each["level"] for each in found["findings"]}
    assert found["bad"] == 0
    for check in ("version", "steps", "registry", "realm", "can say no", "workers", "marks",
                  "layout"):
        assert levels[check] == "ok", found
    for check in ("clock", "boot", "snapshots", "disk"):
        assert levels[check] in ("ok", "warn")
    assert "sqlite" in found["findings"][0]["text"]
    assert max(map(len, cli.out("doctor").splitlines())) <= 120


def test_doctor_says_what_is_bad_and_what_to_do(cli):
    (cli.folder / "text").write_text("not a registry\n" * 100)
    [found] = cli.json("doctor", "--registry", "sqlite:text", code=1)
    [bad] = [each for each in found["findings"] if each["level"] == "bad"]
    assert found["bad"] == 1 and bad["check"] == "registry" and bad["advice"]
    assert re.search(r"^bad +registry", cli.run("doctor", "--registry", "sqlite:text",
                                                code=1).stdout, re.M)
    assert cli.run("doctor", "--registry", "sqlite:none.db", code=1)
    # A registry whose workers are all held.
    cli.run("init", "--workers", "0-0")
    with held_worker(cli):
        text = cli.run("doctor", code=1).stdout
        assert re.search(r"^bad +workers +1 of 1 ", text, re.M)


def test_doctor_sees_a_mark_far_ahead(cli):
    cli.ids()
    database = sqlite3.connect(cli.default_path)
    [table, column] = database.execute(
        "SELECT m.name, p.name FROM sqlite_master m, pragma_table_info(m.name) p "
        "WHERE m.type = 'table' AND m.name = 'firn_worker' AND p.name LIKE '%mark%'").fetchone()
    with database:
        database.execute(f"UPDATE {table} SET {column} = {column} + 864000000")
    database.close()
    assert re.search(r"^warn +marks +1 ", cli.run("doctor").stdout, re.M)


# bench

def test_bench_measures_and_counts_no_refused_call(cli):
    [found] = cli.json("bench", "--seconds", "1")
    assert [each["refused"] for each in found["costs"]] == [0] * len(found["costs"])
    costs = {(each["name"], each["threads"]): each for each in found["costs"]}
    assert costs["bare clock read", 1]["ratio"]["median"] == 1
    assert all(0 < each["ns"]["min"] <= each["ns"]["median"] <= each["ns"]["max"]
               for each in found["costs"])
    assert 0 < found["ceiling"]["ids_per_ms"] <= 4096 * 1.05
    assert 0 < found["wait_us"]["p50"] <= found["wait_us"]["p99"]
    assert found["memory_bytes"]["generator"] == 256
    assert 0 <= found["memory_bytes"]["firn"] <= 65536


# help, manual, completion

def test_firn_alone_is_a_screenful(cli):
    text = cli.out()
    assert len(text.splitlines()) <= 24
    assert max(map(len, text.splitlines())) <= 90
    assert all(re.search(rf"^  {name} ", text, re.M) for name in COMMANDS)
    assert cli.out("--help") == text


def test_version(cli):
    assert re.fullmatch(r"firn \d+\.\d+\.\d+\n", cli.out("--version"))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(cli, command):
    text = cli.out(command, "--help")
    assert text.startswith(f"usage: firn {command}")
    assert "\nexamples\n  " in text
    assert max(map(len, text.splitlines())) <= 90
    assert cli.out("help", command) == text
    assert cli.out(command, "-h") == text


def examples():
    for command in COMMANDS:
        text = subprocess.run([FIRN, command, "--help"], capture_output=True, text=True,
                              check=True).stdout
        for line in re.findall(r"^  (\S.*)$", text.split("\nexamples\n")[1], re.M):
            yield command, line


@pytest.mark.parametrize("command,line", examples())
def test_every_example_in_the_help_works(cli, command, line):
    if command in ("explain", "workers", "doctor"):
        cli.ids()
    done = cli.shell(line)
    assert done.stderr == ""
    if "> ids.txt" in line:
        assert len((cli.folder / "ids.txt").read_text().splitlines()) == 1000000
    elif "> _firn" in line:
        assert (cli.folder / "_firn").read_text().startswith("#compdef firn")
    elif not line.startswith("source"):
        assert done.stdout.strip()
    if "--json" in line:
        assert all(json.loads(each) for each in done.stdout.splitlines())


def test_the_exit_codes_are_documented(cli):
    text = cli.out("help").split("exit codes\n")[1]
    assert re.findall(r"^  (\d)   ", text, re.M) == list("01234567")
    manual = cli.out("help", "--man").split(".Sh EXIT STATUS")[1]
    assert re.findall(r"^\.It (\d)$", manual, re.M) == list("01234567")


def test_the_manual_is_complete_and_without_fault(cli):
    manual = cli.out("help", "--man")
    lint = subprocess.run(["mandoc", "-Tlint", "-Wwarning"], input=manual, text=True,
                          capture_output=True, timeout=DEADLINE_S)
    assert lint.returncode == 0 and lint.stdout == "", lint.stdout
    for command in COMMANDS:
        assert f".Ss firn {command}\n" in manual
        for option in re.findall(r"^ +(?:-\w, )?--([\w-]+)", cli.out(command, "--help"), re.M):
            if option != "help":
                assert f"Fl \\-{option}" in manual


def complete_bash(cli, *words):
    script = ("source <(firn completion bash); COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); "
              "_firn; printf '%s\\n' \"${COMPREPLY[@]}\"")
    done = subprocess.run(["bash", "-c", script, "bash", *words], env=cli.env, text=True,
                          capture_output=True, timeout=DEADLINE_S)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize("words,wanted", [
    (["firn", "ge"], ["gen"]),
    (["firn", "gen", "--fo"], ["--format"]),
    (["firn", "gen", "--format", "base"], ["base32", "base62", "base58"]),
    (["firn", "gen", "-f", "h"], ["hex"]),
    (["firn", "explain", "--layout", "so"], ["sonyflake", "sonyflake2"]),
    (["firn", "layout", "twi"], ["twitter"]),
    (["firn", "help", "ran"], ["range"]),
    (["firn", "completion", "z"], ["zsh"]),
    (["firn", "workers", "ad"], ["adopt"]),
    (["firn", "gen", "-n", ""], []),
])
def test_bash_completes(cli, words, wanted):
    assert complete_bash(cli, *words) == wanted


def test_bash_completion_is_sound(cli):
    script = cli.folder / "firn.bash"
    script.write_text(cli.out("completion", "bash"))
    subprocess.run(["bash", "-n", script], check=True, timeout=DEADLINE_S)
    if shutil.which("shellcheck"):
        subprocess.run(["shellcheck", "-s", "bash", script], check=True, timeout=DEADLINE_S)


def test_zsh_completes(cli):
    script = cli.folder / "_firn"
    script.write_text(cli.out("completion", "zsh"))
    subprocess.run(["zsh", "-n", script], check=True, timeout=DEADLINE_S)
    # A real zsh on a terminal of its own, and a Tab.
    driver = f"""
        zmodload zsh/zpty
        zpty zsh TERM=dumb zsh -f -i
        zpty -w zsh 'PROMPT=; RPROMPT=; fpath=({cli.folder} $fpath); autoload -Uz compinit; compinit -u -D'
        zpty -w zsh 'echo REA''DY'
        zpty -m -r zsh line '*READY*'
        zpty -n -w zsh $'firn explain --lay\\t'
        zpty -m -r zsh line '*--layout*' && print -r -- COMPLETED
        zpty -d zsh
    """
    done = subprocess.run(["zsh", "-f", "-c", driver], env=cli.env, text=True, capture_output=True,
                          timeout=DEADLINE_S, start_new_session=True)
    assert "COMPLETED" in done.stdout, (done.stdout, done.stderr)


# Bad input: one line that says what was wrong, which value, what is allowed

@pytest.mark.parametrize("args,code,words", [
    (["gen", "--layout", "t50w10s12"], 2, ["72"]),
    (["gen", "--layout", "t41w10s12@2031-01-01"], 2, ["2031-01-01"]),
    (["gen", "--layout", "nonsense"], 2, ["nonsense"]),
    (["gen", "--layout", ""], 2, ["layout"]),
    (["gen", "--layout", "linkedin"], 2, ["unknown"]),
    (["gen", "--layout", "baidu"], 2, ["2024-11-20"]),
    (["gen", "--worker", "1024"], 2, ["1024", "0 to 1023"]),
    (["gen", "--worker", "-1"], 2, ["-1", "0 to"]),
    (["gen", "--worker", "x"], 2, ["'x'"]),
    (["gen", "--registry", "static:1024"], 2, ["1024", "1023"]),
    (["gen", "-n", "-1"], 2, ["'-1'", "1 to 1000000000"]),
    (["gen", "-n", "0"], 2, ["'0'", "too small"]),
    (["gen", "-n", "1e99"], 2, ["'1e99'", "1 to 1000000000"]),
    (["gen", "-n", "0x10"], 2, ["'0x10'"]),
    (["gen", "-n", ""], 2, ["''", "empty"]),
    (["gen", "-n", " 5"], 2, ["' 5'"]),
    (["gen", "-n", "+5"], 2, ["'+5'"]),
    (["gen", "-n", "1000000001"], 2, ["too large"]),
    (["gen", "-n", "99999999999999999999999"], 2, ["too large"]),
    (["gen", "--format", "roman"], 2, ["'roman'", "base32"]),
    (["gen", "--json", "--format", "hex"], 2, ["--json", "--format"]),
    (["gen", "--timeout", "10"], 2, ["'10'", "unit"]),
    (["gen", "now"], 2, ["now"]),
    (["gen", "--frob"], 2, ["--frob", "firn gen --help"]),
    (["gen", "-x"], 2, ["-x", "firn gen --help"]),
    (["gen", "-n"], 2, ["-n", "needs a value"]),
    (["gen", "--json=yes"], 2, ["--json=yes", "no value"]),
    (["gen", "--registry", "ftp://x"], 2, ["ftp"]),
    (["gen", "--registry", "static:x"], 2, ["static:x"]),
    (["explain", "18446744073709551616"], 1, ["18446744073709551616", "2^64"]),
    (["explain", "99999999999999999999"], 1, ["99999999999999999999"]),
    (["explain", "123456789012345678901"], 1, ["123456789012345678901"]),
    (["explain", "12a"], 1, ["'12a'", "offset 2"]),
    (["explain", "-12a"], 1, ["'-12a'"]),
    (["explain", ""], 1, ["''"]),
    (["explain", "0x"], 1, ["hex"]),
    (["explain", "0x12345678123456781"], 1, ["hex"]),
    (["explain", "007"], 1, ["'007'"]),
    (["explain", "9223372036854775808"], 1, [DEFAULT_LAYOUT, "9223372036854775807", "--all"]),
    (["explain", SEED_BASE32[:-1] + "U", "--format", "base32"], 1, ["U", "offset 12"]),
    (["explain", SEED_BASE32 + "0", "--format", "base32"], 1, ["13"]),
    (["explain", "1", "--layout", "t50w10s12"], 2, ["72"]),
    (["layout"], 2, ["--list"]),
    (["layout", "t41", "t42"], 2, ["t42"]),
    (["layout", "t41", "--list"], 2, ["t41"]),
    (["bench", "--seconds", "0"], 2, ["1 to 3600"]),
    (["bench", "--threads", "1"], 2, ["2 to 64"]),
    (["completion"], 2, ["SHELL"]),
    (["completion", "fish"], 2, ["fish", "bash"]),
    (["help", "gem"], 2, ["gem"]),
    (["ge"], 2, ["'ge'", "'firn gen'"]),
    (["exlpain"], 2, ["'firn explain'"]),
    (["laoyut"], 2, ["'firn layout'"]),
    (["docter"], 2, ["'firn doctor'"]),
    (["frobnicate"], 2, ["'frobnicate'", "'firn' lists them"]),
    (["--frob"], 2, ["--frob"]),
])
def test_bad_input_is_answered_in_one_line(cli, args, code, words):
    text = cli.wrong(*args, code=code)
    assert all(word in text for word in words), text
    assert len(text) < 500


def test_control_bytes_in_bad_input_do_not_reach_the_terminal(cli):
    assert "\033" not in cli.wrong("explain", "\033[31mred", code=1)
    done = cli.run("explain", "--json", "\033\"\\", code=1)
    assert json.loads(done.stdout)["text"] == "\033\"\\"
    raw = subprocess.run([FIRN, "explain", "--json", b"\xff\xfe"], env=cli.env,
                         capture_output=True, timeout=DEADLINE_S)
    assert json.loads(raw.stdout.decode())["text"] == "\ufffd\ufffd"


def test_a_registry_that_cannot_be_used_is_named(cli):
    (cli.folder / "text").write_text("not a registry\n" * 100)
    text = cli.wrong("gen", "--registry", "sqlite:text", code=3)
    assert "text" in text and "firn" in text
    text = cli.wrong("gen", "--registry", "sqlite:/nonexistent/folder/x.db", code=3)
    assert "/nonexistent/folder" in text
    text = cli.wrong("init", "--registry", "sqlite:/nonexistent/folder/x.db", code=3)
    assert "/nonexistent/folder" in text
    # Even root cannot make a file here.
    assert "/proc" in cli.wrong("init", "--registry", "sqlite:/proc/x.db", code=3)
    assert "/proc" in cli.wrong("gen", code=3, XDG_STATE_HOME="/proc/state")
    (cli.folder / "file").write_text("")
    assert "file" in cli.wrong("gen", code=3, XDG_STATE_HOME=str(cli.folder / "file"))


@pytest.mark.skipif(os.geteuid() == 0 and shutil.which("setpriv") is None, reason="needs setpriv")
def test_a_read_only_folder_is_named(cli):
    drop = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    # pytest's own folders, and perhaps the binary's, are closed to that user.
    with tempfile.TemporaryDirectory() as base:
        os.chmod(base, 0o755)
        binary = shutil.copy(Path(FIRN).resolve(), base)
        folder = Path(base) / "readonly"
        folder.mkdir(mode=0o555)
        done = subprocess.run([*drop, binary, "init", "--registry", f"sqlite:{folder}/x.db"],
                              env=cli.env, capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 3, done
    assert str(folder) in done.stderr


def test_a_registry_of_a_newer_firn_is_refused(cli):
    cli.ids()
    database = sqlite3.connect(cli.default_path)
    version = database.execute("PRAGMA user_version").fetchone()[0]
    database.execute(f"PRAGMA user_version = {version + 1}")
    database.close()
    text = cli.wrong("gen", code=3)
    assert "newer" in text and str(version + 1) in text


@pytest.mark.skipif(shutil.which("faketime") is None, reason="needs faketime")
@pytest.mark.parametrize("when,words", [
    ("2024-06-01 00:00:00", ["2024-06-01", "set the clock"]),
    ("2096-01-01 00:00:00", ["2096-01-01", "30 years after", "set the clock"]),
])
def test_a_clock_outside_the_layouts_life_is_refused(cli, when, words):
    cli.ids()
    # faketime comes before the sanitizer's own library, which minds otherwise.
    done = subprocess.run(["faketime", when, FIRN, "gen", "--timeout", "1s"],
                          env={**cli.env, "ASAN_OPTIONS": "verify_asan_link_order=0"},
                          capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.stdout == ""
    assert done.returncode == 4, done
    assert done.stderr.startswith("firn: ") and len(done.stderr.splitlines()) == 1
    assert all(word in done.stderr for word in words)


# Pipes and full disks

def test_a_closed_pipe_ends_quietly_and_gives_the_worker_back(cli):
    done = cli.shell("firn gen -n 100000000 | head -1")
    assert len(done.stdout.split()) == 1 and done.stderr == ""
    assert cli.json("workers")[0]["state"] in ("released", "free")
    for line in ("gen -n 1000000 --json", "layout --list", "help --man", "completion bash"):
        done = cli.shell(f"firn {line} | head -c 1")
        assert done.stderr == ""
    done = cli.shell("(yes 255; true) | firn explain --json | head -1")
    assert json.loads(done.stdout)["id"] == "255"


@pytest.mark.parametrize("line", ["gen", "gen -n 100000", "gen -n 2 --json", "explain 255",
                                  "explain 255 --json", "layout --list", "help", "help --man",
                                  "--version", "range --from -1h", "doctor", "completion zsh",
                                  "init", "gen --help"])
def test_a_full_disk_is_told(cli, line):
    done = cli.shell(f"firn {line} > /dev/full", code=6)
    assert done.stderr == ("firn: standard output: No space left on device; not everything was "
                           "written\n")


def test_standard_output_that_is_closed_is_told(cli):
    done = cli.shell("firn gen >&-", code=6)
    assert "standard output" in done.stderr


def test_an_interrupt_ends_gen_at_once(cli):
    process = subprocess.Popen([FIRN, "gen", "-n", "1000000000"], env=cli.env, cwd=cli.folder,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.read(20)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=DEADLINE_S)
    assert process.returncode == -signal.SIGINT


def test_progress_is_shown_on_a_terminal_only(cli):
    ours, theirs = pty.openpty()
    process = subprocess.Popen([FIRN, "gen", "-n", "4000000"], env=cli.env, cwd=cli.folder,
                               stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    text = b""
    try:
        while chunk := os.read(ours, 65536):
            text += chunk
    except OSError:  # EIO: the other side was closed
        pass
    os.close(ours)
    assert process.wait(timeout=DEADLINE_S) == 0
    assert b"of 4000000 ids" in text and b"million/s" in text
    assert cli.run("gen", "-n", "2000000").stderr == ""
