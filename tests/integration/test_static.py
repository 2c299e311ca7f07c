# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The firn authors
"""Workers chosen by number: one number is one process, on this machine, whatever happens to it."""
import datetime
import re
import signal
import subprocess
import time

import pytest

from helpers import DEADLINE_S, FIRN, environment, judge, tick_ms, wait_until, worker_of

WINDOW_MS = 400


@pytest.fixture
def four(registry):
    """A registry in which windows are short; `static:4` is worker 4 of it."""
    registry.init("--window", f"{WINDOW_MS}ms")
    registry.url = registry.static_url(4)
    return registry


def instant_ms(text):
    """The instant of the form that firn writes, somewhere in a text."""
    found = re.search(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text)
    assert found, text
    at = datetime.datetime.strptime(found[0], "%Y-%m-%dT%H:%M:%S.%fZ")
    return round(at.replace(tzinfo=datetime.timezone.utc).timestamp() * 1000)


def test_a_second_process_with_the_same_number_is_refused_with_its_holder_and_until_when(four):
    first = four.minter(renewal="thread", block=16, pause_us=500, keep_warm=1)
    first.expect("open", "FIRN_OK", 4)
    first.wait_made(100)
    second = four.minter(block=16)
    opened = second.expect("open")
    assert opened.fields[:2] == ["FIRN_R_NO_LEASE", "-1"]
    assert "worker 4 is held by" in opened.line
    assert f"pid {first.process.pid}" in opened.line
    assert 0 < instant_ms(opened.line) - time.time() * 1000 + 1000 <= WINDOW_MS + 1000
    stopped = second.expect("stop", 0, "FIRN_E_WORKER_HELD")
    assert f"pid {first.process.pid}" in stopped.line
    first.wait_more(100)
    assert second.made() == 0
    second.end()
    first.end()
    assert {worker_of(made) for made in first.ids()} == {4}


def test_the_number_is_free_again_once_the_mark_of_a_killed_process_has_passed(four):
    first = four.minter(renewal="thread", block=16)
    first.wait_made(2000)
    first.kill()
    mark_ms = four.row(4)["mark_ms"]
    second = four.minter(block=16)
    second.wait_made(2000)
    second.end()
    assert tick_ms(second.ids()[0]) >= mark_ms > tick_ms(first.ids()[-1])
    assert judge(four.files()).workers == [4]


def test_the_number_stays_reserved_after_a_clean_end_until_the_mark_has_passed(four):
    first = four.minter(block=16)
    first.wait_made(2000)
    first.end()
    row = four.row(4)
    assert row["released"] == 1
    second = four.minter(count=2000, block=16)
    second.finish()
    assert tick_ms(second.ids()[0]) >= row["mark_ms"]
    judge(four.files())


def test_a_lapsed_number_may_be_taken_and_its_old_holder_says_so(four):
    # The old holder sleeps through its window; another takes the number; the old one wakes.
    old = four.minter(block=256)
    old.wait_made(10000)
    four.stop_outside(old)
    four.wait_lapse(4)
    new = four.minter(block=256)
    new.expect("open", "FIRN_OK", 4)
    new.wait_made(10000)
    old.signal(signal.SIGCONT)
    stopped = old.expect("stop", 0)
    assert stopped.fields[1] in ("FIRN_E_WORKER_TAKEN", "FIRN_E_WORKER_HELD"), stopped
    assert "worker 4" in stopped.line
    made = old.made()
    new.wait_more(100000)
    assert old.made() == made
    new.end()
    # With the number free again, the old holder comes back under a window of its own.
    old.expect("flow", 0)
    old.wait_more(1000)
    old.end()
    judge(four.files())


def test_a_holder_that_let_its_number_lapse_renews_it_when_nobody_took_it(four):
    holder = four.minter(block=64)
    holder.wait_made(1000)
    four.stop_outside(holder)
    four.wait_lapse(4)
    holder.signal(signal.SIGCONT)
    holder.wait_more(100000)
    assert holder.end()["conflicts"] == 0
    judge(four.files())


def test_numbers_side_by_side_do_not_disturb_each_other(registry):
    minters = [registry.minter(url=registry.static_url(number), count=50000, block=64)
               for number in (4, 5, 1023)]
    for minter in minters:
        minter.finish()
    assert judge(registry.files()).workers == [4, 5, 1023]


def test_a_number_by_hand_and_workers_by_lease_share_a_registry(registry):
    by_hand = registry.minter(url=registry.static_url(0), renewal="thread", keep_warm=1, block=64,
                              pause_us=100)
    by_hand.wait_made(1000)
    by_lease = registry.minter(count=50000)
    by_lease.finish()
    by_hand.end()
    verdict = judge(registry.files())
    assert {worker_of(made) for made in by_hand.ids()} == {0}
    assert 0 not in {worker_of(made) for made in by_lease.ids()} and len(verdict.workers) == 2


def test_many_processes_that_fight_for_one_number_never_share_it(four):
    minters = [four.minter(gate=1, mode="wait", count=3000, block=8) for _ in range(6)]
    for minter in minters:
        minter.process.stdin.close()
    for minter in minters:
        minter.finish()
    assert judge(four.files()).workers == [4]


def test_a_number_that_the_layout_does_not_have_is_refused_with_those_it_has(registry):
    status, text = registry.minter(url=registry.static_url(1024)).refusal()
    assert status == "FIRN_E_FIELD_RANGE"
    assert "1024" in text and "0 to 1023" in text


def test_the_command_refuses_a_held_number_and_takes_it_when_it_is_free(four):
    holder = four.minter(renewal="thread", keep_warm=1, block=16, pause_us=500)
    holder.wait_made(100)
    gen = [FIRN, "gen", "--registry", four.url, "--timeout", "100ms"]
    refused = subprocess.run(gen, capture_output=True, text=True, env=environment(),
                             timeout=DEADLINE_S)
    assert refused.returncode != 0 and refused.stdout == ""
    assert f"pid {holder.process.pid}" in refused.stderr and "worker 4" in refused.stderr
    holder.kill()

    def made():
        done = subprocess.run(gen, capture_output=True, text=True, env=environment(),
                              timeout=DEADLINE_S)
        return int(done.stdout) if done.returncode == 0 else None

    fresh = wait_until(made, "the number is free")
    assert worker_of(fresh) == 4 and fresh not in set(holder.ids())


@pytest.mark.parametrize("renewal", ["demand", "thread"])
def test_an_idle_holder_whose_number_was_taken_says_so_and_stamps_nothing_while_it_is_held(four,
                                                                                           renewal):
    # Between its ids it is idle for several windows, so its window lapses (R8).
    idle = four.minter(renewal=renewal, block=1, pause_us=5 * WINDOW_MS * 1000)
    idle.wait_made(1)
    new = four.minter(mode="wait", wait_ms=DEADLINE_S * 1000, renewal="thread", keep_warm=1,
                      note="second shift", block=16, pause_us=200)
    new.wait_made(1000)
    taken = idle.expect("stop", 0, "FIRN_E_WORKER_TAKEN")
    assert "worker 4" in taken.line and "had lapsed" in taken.line
    assert "its own worker number" in taken.line
    held = idle.expect("stop", 0, "FIRN_E_WORKER_HELD")
    assert "second shift" in held.line and f"pid {new.process.pid}" in held.line
    assert instant_ms(held.line) > tick_ms(new.ids()[0])
    new.wait_more(20000)
    assert idle.made() == 1
    new.end()
    assert tick_ms(new.ids()[0]) > tick_ms(idle.ids()[0])
    idle.end()
    judge(four.files())
