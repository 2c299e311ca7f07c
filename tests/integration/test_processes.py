# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The firn authors
"""Many processes on one registry: killed, stopped, forked, started all at once. Never a duplicate."""
import os
import re
import os
import signal
import subprocess
import time

import pytest

from helpers import (DEADLINE_S, FIRN, IDS_PER_TICK, SCALE, Registry, dice, environment, judge,
                     needs_plain_fork, read_ids, scaled, tick_ms, wait_until, worker_of)

PROCESSES = 8
MODES = ["next", "many", "wait", "wait-many", "runs"]
RENEWALS = ["demand", "thread"]


def keep_killing(registry, random, wanted, settings):
    """Runs 8 minters at a time, kills each with -9 after a random number of ids, and starts another
    in its place, until there are enough ids. Returns how many were killed."""
    killed = 0
    done = 0

    def start():
        minter = registry.minter(**settings())
        minter.life = random.randrange(20000, 600000)
        return minter

    running = [start() for _ in range(PROCESSES)]
    end = time.monotonic() + DEADLINE_S + 10 * SCALE
    while done + sum(minter.made() for minter in running) < wanted:
        assert time.monotonic() < end, [minter.story() for minter in running]
        for i, minter in enumerate(running):
            assert minter.process.poll() is None, (minter.process.stderr.read(), minter.story())
            if minter.made() >= minter.life:
                minter.kill()
                killed += 1
                done += minter.made()
                running[i] = start()
        time.sleep(0.002)
    for minter in running:
        minter.end()
    return killed


def test_eight_processes_killed_at_random_give_ten_million_distinct_sorted_ids(registry, request):
    random = dice(request)
    killed = keep_killing(registry, random, 10_000_000, lambda: {
        "mode": random.choice(MODES), "renewal": random.choice(RENEWALS),
        "block": random.choice([1, 64, 512, 4096])})
    verdict = judge(registry.files())
    assert verdict.total >= 10_000_000
    assert killed >= 10


@pytest.mark.full
def test_eight_processes_with_threads_killed_at_random_give_a_hundred_million_ids(registry, request):
    random = dice(request)
    # Threads of one process order their ids by tick only, so each lane is sorted but for runs.
    keep_killing(registry, random, 100_000_000, lambda: {
        "mode": random.choice(MODES[:4]), "renewal": random.choice(RENEWALS),
        "threads": random.choice([1, 2, 4]), "window_ms": random.choice([20, 300, None]),
        "block": random.choice([1, 64, 4096])})
    assert judge(registry.files(), is_sorted=False).total >= 100_000_000


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("renewal", RENEWALS)
def test_every_way_of_making_ids_survives_kills_across_short_windows(registry, request, mode,
                                                                     renewal):
    random = dice(request)
    registry.init("--workers", "0-31", "--window", "40ms")
    for _ in range(scaled(3)):
        running = [registry.minter(mode=mode, renewal=renewal, threads=2, block=16, pause_us=200)
                   for _ in range(3)]
        for minter in running:
            minter.wait_made(random.randrange(1000, 6000))
            minter.kill()
    judge(registry.files(), is_sorted=mode != "runs")


def test_threads_of_one_process_each_see_increasing_ids(registry):
    registry.minter(threads=4, count=300000, renewal="thread").finish()
    verdict = judge(registry.files())
    assert verdict.total == 1200000 and len(verdict.workers) == 1


def test_a_hundred_cold_starts_on_an_empty_registry_all_get_a_worker_of_their_own(registry):
    # Field report 77. A hundred processes wait at one gate, then open the registry at once.
    minters = [registry.minter(gate=1, count=100, hold=1, renewal="thread", keep_warm=1)
               for _ in range(100)]
    for minter in minters:
        minter.process.stdin.close()
    opened = [minter.expect("open") for minter in minters]
    assert {event.fields[0] for event in opened} == {"FIRN_OK"}, opened
    assert len({event.fields[1] for event in opened}) == 100
    for minter in minters:
        minter.expect("hold")
    for minter in minters:
        minter.end()
    verdict = judge(registry.files())
    assert verdict.total == 10000 and len(verdict.workers) == 100
    assert registry.query("SELECT count(*) FROM firn_realm") == [(1,)]


def test_cold_starts_that_share_few_workers_wait_and_never_share_one(registry):
    registry.init("--workers", "0-3", "--window", "100ms")
    minters = [registry.minter(gate=1, count=2000, mode="wait") for _ in range(12)]
    for minter in minters:
        minter.process.stdin.close()
    for minter in minters:
        minter.finish()
    assert set(judge(registry.files()).workers) <= {0, 1, 2, 3}


def test_thousands_of_gen_calls_in_a_shell_loop_never_run_out_of_workers(registry):
    count = scaled(1000)
    script = 'seq "$1" | xargs -P 8 -I{} "$2" gen -n 1'
    done = subprocess.run(["sh", "-c", script, "sh", str(count), FIRN], capture_output=True,
                          text=True, timeout=DEADLINE_S + count / 20,
                          env=environment(XDG_STATE_HOME=str(registry.folder)))
    assert done.returncode == 0 and done.stderr == "", done.stderr[-2000:]
    ids = [int(line) for line in done.stdout.split()]
    assert len(ids) == len(set(ids)) == count
    # Each call asks for milliseconds, so that a handful of numbers serves them all.
    used = Registry(registry.folder / "firn").workers_used()
    assert used < 64


def test_crash_cycles_never_exhaust_a_small_pool(registry):
    # Field reports 16 and 19: a worker whose holder was killed is free when its mark has passed.
    registry.init("--workers", "0-7", "--window", "20ms")
    for _ in range(scaled(60)):
        minter = registry.minter(mode="wait", block=8)
        minter.wait_made(8)
        minter.kill()
    assert len(judge(registry.files()).workers) <= 8


def test_a_stopped_process_keeps_its_ids_and_takes_another_worker_when_it_wakes(registry):
    registry.init("--workers", "0-1", "--window", "300ms")
    sleeper = registry.minter(block=4096)
    own = int(sleeper.expect("worker").fields[1])
    sleeper.wait_made(50000)
    registry.stop_outside(sleeper)
    # Others take every worker, that of the sleeper included.
    others = [registry.minter(mode="wait", block=64, pause_us=100) for _ in range(2)]
    for other in others:
        other.expect("worker", deadline_s=DEADLINE_S)
    assert own in {int(other.said("worker")[0].fields[1]) for other in others}
    sleeper.signal(signal.SIGCONT)
    stopped = sleeper.expect("stop", 0, "FIRN_E_WORKERS_BUSY")
    assert "held" in stopped.line
    others[0].end()
    sleeper.expect("flow", 0)
    sleeper.wait_more(1000)
    statistics = sleeper.end()
    others[1].end()
    assert statistics["healthy"] == 1
    judge(registry.files())


def test_a_stopped_process_renews_when_nobody_took_its_worker(registry):
    registry.init("--workers", "0-0", "--window", "200ms")
    sleeper = registry.minter(block=256)
    sleeper.wait_made(10000)
    registry.stop_outside(sleeper)
    registry.wait_lapse(0)
    sleeper.signal(signal.SIGCONT)
    sleeper.wait_more(100000)
    statistics = sleeper.end()
    assert statistics["conflicts"] == 0 and statistics["renewals"] >= 2
    judge(registry.files())


@pytest.mark.parametrize("renewal", RENEWALS)
def test_stopping_and_waking_at_random_never_repeats(registry, request, renewal):
    random = dice(request)
    registry.init("--workers", "0-2", "--window", "30ms")
    running = [registry.minter(mode="wait", block=32, renewal=renewal, pause_us=50, timeout_ms=100)
               for _ in range(4)]
    for minter in running:
        minter.expect("open")
    for _ in range(scaled(30)):
        victim = random.choice(running)
        lively = [minter for minter in running if minter is not victim]
        wanted = sum(minter.made() for minter in lively) + random.randrange(2000)
        halts = sum(len(minter.said("stop")) for minter in lively)
        victim.stop()
        # One that was stopped inside the registry holds the others up: they say so.
        wait_until(lambda: sum(minter.made() for minter in lively) >= wanted
                   or sum(len(minter.said("stop")) for minter in lively) > halts,
                   lambda: f"the others go on: {[minter.story() for minter in running]}")
        victim.signal(signal.SIGCONT)
    for minter in running:
        minter.end()
    judge(registry.files(), is_sorted=False)


@pytest.mark.parametrize("renewal", ["demand", pytest.param("thread", marks=needs_plain_fork)])
def test_children_go_on_with_leases_of_their_own_when_their_parent_is_killed(registry, renewal):
    registry.init("--window", "200ms")
    family = registry.minter(children=3, renewal=renewal, block=64, pause_us=200)
    for _ in range(4):
        family.expect("lanes")
    family.wait_made(40000)
    family.process.kill()
    killed_ms = time.time() * 1000
    orphans = [family.out.with_name(f"{family.out.name}.{i}") for i in (1, 2, 3)]

    def last_id(path):
        return read_ids(path)[-1]

    # The family's last window ends at most a window after the kill; what comes later is their own.
    for path in orphans:
        wait_until(lambda: tick_ms(last_id(path)) > killed_ms + 600,
                   lambda: f"{path} goes on: {family.story()}")
    assert len({worker_of(last_id(path)) for path in orphans}) == 3, family.story()
    for lane in (1, 2, 3):
        os.kill(family.pids()[lane], signal.SIGTERM)
    family.wait()
    for lane in (1, 2, 3):
        assert family.statistics(lane)["renewals"] >= 1, family.story()
    judge(family.files())


def test_children_share_their_parents_lease_while_it_lives(registry):
    family = registry.minter(children=3, count=100000, block=64)
    family.finish()
    verdict = judge(family.files())
    assert verdict.total == 400000
    assert len(verdict.workers) == 1 and registry.workers_used() == 1


def test_a_family_of_four_holds_the_ceiling_of_a_tick_and_never_exceeds_it(registry):
    family = registry.minter(children=3, mode="wait-many", block=4096, milliseconds=1500)
    statistics = family.finish()
    verdict = judge(family.files())
    assert len(verdict.workers) == 1
    assert verdict.tick_most == IDS_PER_TICK
    # A busy machine makes the writers miss ticks, but a tick that is begun is made full.
    assert verdict.full_ticks >= 0.9 * verdict.ticks, verdict.text
    assert verdict.total >= 0.5 * IDS_PER_TICK * 1500, verdict.text
    assert statistics["full_ticks"] > 0


def test_sigterm_ends_a_process_with_a_clean_release(registry):
    minter = registry.minter(block=16)
    minter.wait_made(1000)
    before = registry.row(0)
    assert before["released"] == 0 and f"pid {minter.process.pid}" in before["note"]
    minter.end()
    after = registry.row(0)
    assert after["released"] == 1
    # R3: the mark stays, so its holder's last ids are never repeated.
    assert after["mark_ms"] >= before["mark_ms"] and after["counter"] > before["counter"]
    assert "released" in firn_workers(registry)


def firn_workers(registry):
    done = subprocess.run([FIRN, "workers", "--registry", registry.url], capture_output=True,
                          text=True, env=environment(), timeout=DEADLINE_S, check=True)
    return done.stdout


def test_a_killed_process_leaves_its_record_unreleased(registry):
    minter = registry.minter(block=16)
    minter.wait_made(1000)
    minter.kill()
    assert registry.row(0)["released"] == 0
    judge(registry.files())


def test_the_command_and_the_library_share_one_registry(registry):
    minter = registry.minter(block=64)
    minter.wait_made(1000)
    done = subprocess.run([FIRN, "gen", "-n", "50000", "--registry", registry.url],
                          capture_output=True, text=True, env=environment(), timeout=DEADLINE_S)
    assert done.returncode == 0, done.stderr
    minter.wait_more(1000)
    minter.end()
    made = {int(line) for line in done.stdout.split()}
    assert len(made) == 50000
    assert made.isdisjoint(minter.ids())


def test_check_ids_finds_a_planted_duplicate_and_says_where(registry):
    # The judge itself: a test that could not fail would show nothing.
    minter = registry.minter(count=5000)
    minter.finish()
    copy = registry.folder / "copy"
    copy.write_bytes(minter.out.read_bytes()[80:88])
    with pytest.raises(AssertionError) as failure:
        judge([minter.out, copy])
    assert f"duplicate={minter.ids()[10]} {minter.out}[10] {copy}[0]" in str(failure.value)
    backwards = registry.folder / "backwards"
    backwards.write_bytes(minter.out.read_bytes()[8:16] + minter.out.read_bytes()[:8])
    with pytest.raises(AssertionError):
        judge([backwards])
