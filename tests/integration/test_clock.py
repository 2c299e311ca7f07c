# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The firn authors
"""Clocks that go back, forward, stand still or are years wrong, across crashes and while ids are
made. libfaketime moves the real clock of the processes under test; the monotonic one stays."""
import re
import subprocess
import time

import pytest

from helpers import (DEADLINE_S, FIRN, Clock, dice, environment, judge, needs_faketime,
                     read_ids, scaled, sequence_of, tick_ms, wait_until, worker_of)

pytestmark = needs_faketime

SECOND = 1.0
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
YEAR = 365 * 86400 * SECOND
# The clock as it is: a Clock counts from a base that lies ahead.
NOW = -float(Clock.BASE_S)
STEPS_BACK = {"1ms": 0.001, "10ms": 0.01, "100ms": 0.1, "1s": 1, "3s": 3, "1min": MINUTE,
              "10min": 10 * MINUTE}
# What a run may say instead of making ids, when its clock was set back.
REFUSALS = {"FIRN_E_WORKERS_BUSY", "FIRN_E_WORKER_HELD", "FIRN_E_CLOCK_SKEW", "FIRN_E_DEADLINE"}


def steps(names):
    return pytest.mark.parametrize("back_s", [STEPS_BACK[name] for name in names], ids=names)


def crash(registry, count=2000, **settings):
    """A run that is killed with -9 while it makes ids."""
    minter = registry.minter(block=64, **settings)
    minter.wait_made(count)
    minter.kill()
    return minter


def marks(registry):
    """All that the registry knows, but for its name."""
    return registry.query("SELECT * FROM firn_worker ORDER BY worker")


def run_or_refusal(registry, clock, count=2000, **settings):
    """A run either makes its ids and is killed, or says clearly why it makes none: the status and
    what a person reads, or None."""
    minter = registry.minter(clock=clock, block=64, **settings)
    opened = minter.expect("open")
    if opened.fields[0] not in {"FIRN_OK", "FIRN_R_NO_LEASE"}:
        status, text = minter.refusal()
    else:
        wait_until(lambda: minter.made() >= count or minter.said("stop"), minter.story)
        stopped = minter.said("stop")
        minter.kill()
        if not stopped or minter.made() > 0:
            return None
        status, text = stopped[0].fields[1], stopped[0].text
    assert status in REFUSALS and minter.made() == 0, (status, text)
    assert re.search("set the clock|the first is free at|reserved until", text), text
    return status, text


def said_clock(minter):
    event = minter.expect("clock")
    return [int(field) for field in event.line.split(" ")[1:]]


# The tests rest on these.

@pytest.mark.parametrize("shift_s", [0, -0.001, -1, -10 * MINUTE, -YEAR, HOUR, NOW])
def test_the_clocks_of_a_minter_are_really_moved(registry, shift_s):
    clock = Clock(shift_s)
    minter = registry.minter(clock=clock, count=10)
    before_ms = clock.now_ms()
    real, coarse, monotonic = said_clock(minter)
    minter.finish()
    assert abs(real - before_ms) < 2000 and abs(coarse - before_ms) < 2000
    assert abs(monotonic - time.monotonic() * 1000) < 5000
    for made in minter.ids():
        assert real - 1 <= tick_ms(made) < real + 5000


def test_a_millisecond_back_is_a_millisecond_back(registry):
    # Both clocks follow one base, so that differences of the tests are differences of the clocks.
    steady, moved = Clock(0), Clock(-0.5)
    for clock, offset_ms in ((steady, 0), (moved, -500)):
        before_ms = int(time.time() * 1000)
        real, _, _ = said_clock(registry.minter(clock=clock, count=1))
        after_ms = int(time.time() * 1000)
        base_ms = Clock.BASE_S * 1000 + offset_ms
        assert before_ms + base_ms - 1 <= real <= after_ms + base_ms + 1


def test_a_running_minter_sees_its_clock_move(registry, moving_clock):
    minter = registry.minter(clock=moving_clock, pause_us=500, block=1)
    minter.wait_made(10)
    assert abs(tick_ms(minter.ids()[-1]) - moving_clock.now_ms()) < 2000
    moving_clock.set(HOUR)
    minter.wait_more(100)
    assert abs(tick_ms(minter.ids()[-1]) - moving_clock.now_ms()) < 2000
    minter.end()


# Restarts.

@pytest.mark.parametrize("pool", ["one worker", "all workers"])
def test_restarts_with_the_clock_set_back_never_repeat_an_id(registry, pool):
    if pool == "one worker":
        registry.init("--workers", "0-0", "--window", "300ms")
    said = {}
    for name, back_s in (("1ms", 0.001), ("1s", 1), ("10min", 10 * MINUTE), ("year", YEAR)):
        clock = Clock(0)
        # The last run's mark may lie ahead of this clock; a crashed run waits for it.
        crash(registry, mode="wait", clock=clock)
        said[name] = run_or_refusal(registry, Clock(-back_s))
        crash(registry, mode="wait", clock=clock)
    judge(registry.files())
    assert len(registry.files()) >= 8
    if pool == "one worker":
        assert said["10min"][0] == "FIRN_E_WORKERS_BUSY" and "first is free at" in said["10min"][1]
        assert said["year"][0] in REFUSALS
    else:
        # Whoever is behind takes a worker whose mark has passed, or a new one.
        assert said["1ms"] is None and said["1s"] is None


@pytest.mark.parametrize("back_s", [10 * MINUTE, YEAR], ids=["10min", "year"])
def test_a_clock_before_the_librarys_build_date_is_refused(registry, back_s):
    # From the present: a year ago this library did not exist. Ten minutes ago it may not have.
    crash(registry, clock=Clock(NOW))
    before = marks(registry)
    refused = run_or_refusal(registry, Clock(NOW - back_s))
    if back_s == YEAR:
        assert refused[0] == "FIRN_E_CLOCK_SKEW"
    if refused is not None and refused[0] == "FIRN_E_CLOCK_SKEW":
        assert re.search(r"this clock reads \d{4}-.*before this library was built.*set the clock",
                         refused[1])
        assert marks(registry) == before
    crash(registry, mode="wait", clock=Clock(NOW))
    judge(registry.files())


@pytest.mark.parametrize("renewal", ["demand", "thread"])
@steps(STEPS_BACK)
def test_kill_9_and_a_clock_set_back_never_repeat_an_id(registry, back_s, renewal):
    # Field report 7. One worker, so that nothing but the mark keeps the runs apart.
    registry.init("--workers", "0-0", "--window", "200ms")
    for _ in range(scaled(2)):
        crash(registry, mode="wait", renewal=renewal, clock=Clock(0))
        refused = run_or_refusal(registry, Clock(-back_s), mode="wait", wait_ms=1000)
        if back_s <= 0.1:
            assert refused is None, "a mark so near is waited for"
    judge(registry.files())


@steps(STEPS_BACK)
def test_ids_flow_again_after_a_crash_once_the_clock_has_passed_the_mark(registry, back_s):
    registry.init("--workers", "0-0", "--window", "200ms")
    clock = Clock(0, file=registry.folder / "clock")
    crash(registry, clock=clock)
    mark_ms = registry.row(0)["mark_ms"]
    clock.set(-back_s)
    minter = registry.minter(clock=clock, mode="wait", block=16)
    if back_s >= 1:
        minter.expect("stop", 0)
        assert minter.made() == 0
        clock.set(0)
    minter.wait_made(1000)
    minter.kill()
    assert tick_ms(minter.ids()[0]) >= mark_ms
    judge(registry.files())


def test_clocks_set_at_random_between_crashes_never_repeat_an_id(registry, request):
    random = dice(request)
    registry.init("--workers", "0-3", "--window", "30ms")
    for _ in range(scaled(25)):
        shift_s = random.choice([0, 0.001, 0.05, 1, MINUTE]) * random.uniform(-1, 1)
        run_or_refusal(registry, Clock(shift_s), count=random.randrange(1, 3000),
                       mode=random.choice(["next", "many", "wait", "runs"]),
                       start=random.choice(["zero", "random", "carried"]))
    judge(registry.files())


def test_a_new_holder_whose_clock_is_20_ms_behind_repeats_nothing(registry):
    registry.init("--workers", "0-0", "--window", "100ms")
    clock = Clock(0)
    first = registry.minter(clock=clock, block=8)
    first.wait_made(4096)
    first.end()
    mark_ms = registry.row(0)["mark_ms"]
    second = registry.minter(clock=Clock(-0.02), mode="wait", count=4096)
    second.finish()
    assert tick_ms(second.ids()[0]) >= mark_ms > tick_ms(first.ids()[-1])
    assert judge(registry.files()).workers == [0]


def test_a_new_holder_behind_takes_another_worker_at_once(registry):
    first = crash(registry, clock=Clock(0))
    second = registry.minter(clock=Clock(-0.02), count=100)
    second.finish()
    assert worker_of(second.ids()[0]) != worker_of(first.ids()[0])
    judge(registry.files())


@pytest.mark.parametrize("workers", ["0-0", "0-1023"])
def test_a_restart_in_the_same_millisecond_repeats_nothing(registry, workers):
    # The clock stands still, so every run of it is in one millisecond.
    registry.init("--workers", workers)
    frozen = Clock(at=time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() + 86400)))
    first = registry.minter(clock=frozen, count=1000)
    first.finish()
    second = registry.minter(clock=frozen, count=1000)
    if workers == "0-0":
        assert second.expect("stop", 0).fields[1] == "FIRN_E_WORKERS_BUSY"
        second.kill()
    else:
        second.finish()
        assert {tick_ms(made) for made in first.ids() + second.ids()} == {tick_ms(first.ids()[0])}
        assert worker_of(first.ids()[0]) != worker_of(second.ids()[0])
    judge(path for path in registry.files() if path.stat().st_size > 0)


# Steps while ids are made.

def running(registry, clock, back, **settings):
    minter = registry.minter(clock=clock, back=back, block=8, pause_us=200, **settings)
    minter.wait_made(200)
    return minter


@pytest.mark.parametrize("back", ["continue", "wait", "refuse"])
@pytest.mark.parametrize("step_s", [0.003, 0.5, HOUR], ids=["3ms", "500ms", "1h"])
def test_a_clock_set_back_and_forward_while_running(registry, moving_clock, back, step_s):
    minter = running(registry, moving_clock, back)
    for _ in range(3):
        moving_clock.set(-step_s)
        if step_s > 0.01:
            # More than back_max_ms: refused whatever the policy, until the clock is right again.
            stopped = minter.expect("stop", 0, "FIRN_E_CLOCK_BACK")
            assert "clock" in stopped.text
        else:
            # So small a step ends by itself.
            minter.wait_more(200)
        moving_clock.set(0)
        minter.wait_more(200)
    statistics = minter.end()
    assert statistics["healthy"] == 1 and statistics["back_count"] > 0
    assert judge(registry.files()).workers == [0]


def step_back_by_3_ms(registry, moving_clock, back):
    """The last ids before each refusal, and the first ones after it."""
    minter = running(registry, moving_clock, back)
    wanted = "FIRN_E_CLOCK_WAIT" if back == "wait" else "FIRN_E_CLOCK_BACK"
    for step in range(1, scaled(20) + 1):
        # Each step goes 3 ms further back than the one before. On a busy machine one may pass
        # before the minter looks at the clock.
        seen = len(minter.said("flow"))
        made = minter.made()
        moving_clock.set(-0.003 * step)
        wait_until(lambda: len(minter.said("flow")) > seen or minter.made() > made + 400, "seen")
    minter.end()
    stops = [int(event.fields[2].split(" ")[0]) for event in minter.said("stop")
             if event.fields[1] == wanted]
    flows = [int(event.fields[1]) for event in minter.said("flow")]
    assert len(minter.said("stop")) == len(stops) >= len(flows) >= scaled(20) / 4
    judge(registry.files())
    return stops, flows


@pytest.mark.parametrize("back", ["wait", "refuse"])
def test_a_clock_3_ms_behind_gives_nothing_until_it_has_passed_the_last_tick(registry, moving_clock,
                                                                              back):
    stops, flows = step_back_by_3_ms(registry, moving_clock, back)
    for last, first in zip(stops, flows):
        assert tick_ms(first) > tick_ms(last) and sequence_of(first) == 0


def test_continue_goes_on_in_the_last_tick_and_then_waits_for_the_clock(registry, moving_clock):
    minter = registry.minter(clock=moving_clock, back_max_ms=500, mode="wait-many", block=1024,
                             wait_ms=2000)
    minter.wait_made(20000)
    for step in (1, 2, 3):
        moving_clock.set(-0.1 * step)
        minter.wait_more(40000)
    statistics = minter.end()
    verdict = judge(registry.files())
    assert verdict.tick_most <= 4096 and statistics["back_count"] >= 1
    assert minter.said("stop") == []


@pytest.mark.parametrize("back", ["continue", "wait", "refuse"])
@pytest.mark.parametrize("renewal", ["demand", "thread"])
def test_a_clock_set_at_random_while_processes_run_never_repeats_an_id(registry, moving_clock,
                                                                       request, back, renewal):
    random = dice(request)
    registry.init("--workers", "0-7", "--window", "100ms")
    modes = ["next", "many", "wait", "runs"]
    minters = [registry.minter(clock=moving_clock, back=back, mode=mode, renewal=renewal, threads=2,
                               block=16, pause_us=100) for mode in modes]
    for minter in minters:
        minter.wait_made(100)
    for _ in range(scaled(15)):
        moving_clock.set(random.choice([0.002, 0.02, 0.3, 5]) * random.uniform(-1, 1))
        before = sum(minter.made() for minter in minters)
        end = time.monotonic() + 0.1
        wait_until(lambda: time.monotonic() > end
                   or sum(minter.made() for minter in minters) > before + 2000, "some time passes")
    # Past every mark: now all of them make ids again.
    moving_clock.set(30)
    for minter in minters:
        minter.wait_more(500)
        assert minter.end()["healthy"] == 1
    judge([path for minter in minters[:3] for path in minter.files()])
    judge(registry.files(), is_sorted=False)


def test_an_hour_forward_and_back_repeats_nothing_and_ids_flow_again(registry, moving_clock):
    registry.init("--workers", "0-1", "--window", "200ms")
    minter = running(registry, moving_clock, "continue")
    moving_clock.set(HOUR)
    minter.wait_more(2000)
    ahead = tick_ms(minter.ids()[-1])
    assert ahead > (time.time() + Clock.BASE_S + HOUR - MINUTE) * 1000
    moving_clock.set(0)
    stopped = minter.expect("stop", 0, "FIRN_E_CLOCK_BACK")
    assert tick_ms(int(stopped.fields[2].split(" ")[0])) >= ahead
    # A restart is not held up by the mark that was an hour ahead: there is another worker.
    minter.kill()
    second = registry.minter(clock=moving_clock, count=2000)
    second.finish()
    assert worker_of(second.ids()[0]) != worker_of(minter.ids()[0])
    # Once the hour is over, both workers serve again.
    moving_clock.set(HOUR + MINUTE)
    for _ in range(2):
        crash(registry, clock=moving_clock)
    assert judge(registry.files()).workers == [0, 1]


# Waits.

@pytest.mark.parametrize("mode", ["wait", "wait-many"])
@pytest.mark.parametrize("back", ["continue", "wait"])
def test_a_wait_whose_clock_goes_back_honours_its_deadline(registry, moving_clock, back, mode):
    # Field report 4. The clock goes back while the call waits, by less than back_max_ms in all.
    minter = registry.minter(clock=moving_clock, back=back, back_max_ms=60000, mode=mode,
                             wait_ms=400, block=64)
    minter.wait_made(10000)
    shift_s = 0
    end = time.monotonic() + DEADLINE_S
    while not minter.said("stop"):
        assert time.monotonic() < end, minter.story()
        shift_s -= 0.3
        moving_clock.set(max(shift_s, -30))
        time.sleep(0.02)
    assert minter.said("stop")[0].fields[1] == "FIRN_E_DEADLINE"
    # And it goes on when the clock has caught up.
    moving_clock.set(1)
    minter.expect("flow", 0)
    minter.wait_more(1000)
    assert 400 <= minter.end()["longest_ms"] < 1400
    judge(registry.files())


def test_a_wait_ends_with_an_error_when_the_clock_goes_back_too_far(registry, moving_clock):
    minter = registry.minter(clock=moving_clock, back="wait", back_max_ms=1000, mode="wait",
                             wait_ms=30000, block=64)
    minter.wait_made(1000)
    moving_clock.set(-0.9)
    made = minter.made()
    moving_clock.set(-5)
    minter.expect("stop", 0, "FIRN_E_CLOCK_BACK", deadline_s=10)
    moving_clock.set(0.1)
    minter.wait_made(made + 1000)
    assert minter.end()["longest_ms"] < 10000
    judge(registry.files())


@pytest.mark.parametrize("mode", ["wait", "wait-many"])
@pytest.mark.parametrize("at", [".000000", ".000970"], ids=["early in a tick", "late in a tick"])
def test_a_wait_for_a_clock_that_stands_still_honours_its_deadline(registry, mode, at):
    # Late in a tick the wait spins instead of sleeping.
    frozen = Clock(at=time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() + 86400)) + at)
    minter = registry.minter(clock=frozen, mode=mode, wait_ms=300, block=64)
    minter.expect("stop", 0, "FIRN_E_DEADLINE", deadline_s=10)
    statistics = minter.end()
    assert statistics["made"] == 4096 and 300 <= statistics["longest_ms"] < 1300
    assert judge(registry.files()).ticks == 1


# Clocks that are years wrong.

WRONG = {
    "before the epoch": (Clock(at="@2024-06-01 12:00:00"), "2024-06-01"),
    "1970": (Clock(at="@1970-01-02 00:00:00"), "1970-01-0"),
    "before the build date": (Clock(at="@2025-03-01 12:00:00"), "2025-03-01"),
    "forty years ahead": (Clock(NOW + 40 * YEAR), f"{time.gmtime().tm_year + 39}|"
                          f"{time.gmtime().tm_year + 40}"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_clock_years_wrong_is_refused_and_no_mark_is_written(registry, case):
    clock, reads = WRONG[case]
    crash(registry, clock=Clock(NOW))
    before = marks(registry)
    minter = registry.minter(clock=clock, count=10)
    status, text = minter.refusal()
    assert status == "FIRN_E_CLOCK_SKEW" and re.search(reads, text) and "set the clock" in text
    assert minter.made() == 0 and marks(registry) == before
    crash(registry, clock=Clock(NOW))
    judge(registry.files())


@pytest.mark.parametrize("case", WRONG)
def test_a_clock_years_wrong_makes_no_worker_in_a_new_registry(registry, case):
    minter = registry.minter(clock=WRONG[case][0], count=10)
    status, text = minter.refusal()
    assert status in {"FIRN_E_CLOCK_SKEW", "FIRN_E_LAYOUT_EPOCH", "FIRN_E_LAYOUT_LIFE"}, text
    assert minter.made() == 0
    assert not registry.path.exists() or marks(registry) == []
    good = registry.minter(clock=Clock(NOW), count=100)
    good.finish()
    assert judge(good.files()).total == 100


@pytest.mark.parametrize("case", WRONG)
def test_the_command_refuses_a_clock_years_wrong(registry, case):
    crash(registry, clock=Clock(NOW))
    before = marks(registry)
    done = subprocess.run([FIRN, "gen", "--registry", registry.url], capture_output=True, text=True,
                          env=environment(**WRONG[case][0].env()), timeout=DEADLINE_S)
    assert done.returncode != 0 and done.stdout == ""
    assert re.search(WRONG[case][1], done.stderr) and "set the clock" in done.stderr
    assert marks(registry) == before


@pytest.mark.parametrize("case", WRONG)
def test_a_clock_that_goes_years_wrong_while_running_stops_the_ids(registry, case):
    at = {"before the epoch": "2024-06-01 12:00:00", "1970": "1970-01-02 00:00:00",
          "before the build date": "2025-03-01 12:00:00"}.get(case)
    clock = Clock(NOW, file=registry.folder / "clock")
    minter = running(registry, clock, "continue")
    before = marks(registry)
    if at is None:
        clock.set(NOW + 40 * YEAR)
    else:
        then = time.mktime(time.strptime(at + " UTC", "%Y-%m-%d %H:%M:%S %Z")) - time.timezone
        clock.set(NOW + then - time.time())
    stopped = minter.expect("stop", 0)
    wanted = {"before the epoch": "FIRN_E_CLOCK_EPOCH", "1970": "FIRN_E_CLOCK_EPOCH",
              "before the build date": "FIRN_E_CLOCK_BACK",
              "forty years ahead": "FIRN_E_CLOCK_SKEW"}[case]
    assert stopped.fields[1] == wanted
    last = int(stopped.fields[2].split(" ")[0])
    assert marks(registry)[0][:2] == before[0][:2] or tick_ms(last) < time.time() * 1000 + 10000
    clock.set(NOW)
    minter.wait_more(1000)
    assert all(tick_ms(made) < (time.time() + MINUTE) * 1000 for made in read_ids(minter.out))
    minter.end()
    judge(registry.files())
