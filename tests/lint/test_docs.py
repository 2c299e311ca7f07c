# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The firn authors

"""The generated documents' figures: right by known dates, and equal to what the library computes."""

import datetime
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests" / "lint")]
import docs  # noqa: E402  (the path above is what finds it)
import examples  # noqa: E402

PRESETS = json.loads((ROOT / "tests/vectors/presets.json").read_text(encoding="utf-8"))

PROGRAM = """\
#include <inttypes.h>
#include <stdio.h>

#include "firn/layout.h"
#include "firn/time.h"

int main(int count, char **texts)
{
    for (int i = 1; i < count; i++) {
        firn_layout layout;
        firn_capacity capacity;
        char end[FIRN_TIME_TEXT_SIZE];
        if (firn_layout_parse(texts[i], &layout, NULL) < 0 ||
            firn_layout_capacity(&layout, &capacity) < 0 ||
            firn_time_format(capacity.end_us, 6, end, sizeof end) < 0) {
            return 1;
        }
        printf("%" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64 " %s\\n",
               capacity.workers, capacity.ids_per_tick, capacity.first_us, capacity.end_us,
               capacity.negative_us, end);
    }
    return 0;
}
"""


@pytest.mark.parametrize("text,ends,negative", [
    ("t41w10s12@2025-01-01", "2094-09-07T15:47:35.552Z", None),
    ("t41w13s10@1314220021721", "2081-04-30T12:54:37.273Z", "2046-06-27T17:00:49.497Z"),
    ("t28w22s13/1s@1463673600000", "2024-11-20T13:24:16Z", None),
    ("t41x22@0", "2039-09-07T15:47:35.552Z", None),
    ("t32w31/1s@1970-01-01", "2106-02-07T06:28:16Z", None),
])
def test_dates_that_are_known_from_elsewhere(text, ends, negative):
    layout = docs.parse_layout(text)
    assert docs.format_time(layout.end_us) == ends
    assert (layout.negative_us and docs.format_time(layout.negative_us)) == negative


def test_days_agree_with_datetime_for_as_long_as_that_lasts():
    for day in range(0, (datetime.date.max - datetime.date(1970, 1, 1)).days, 97):
        date = datetime.date(1970, 1, 1) + datetime.timedelta(days=day)
        assert docs.civil(day) == (date.year, date.month, date.day)


def test_days_go_on_after_the_year_9999():
    last = (datetime.date.max - datetime.date(1970, 1, 1)).days
    assert docs.civil(last) == (9999, 12, 31)
    assert docs.civil(last + 1) == (10000, 1, 1)
    assert docs.civil(last + 60) == (10000, 2, 29)  # a leap year: 400 divides it
    assert docs.format_time((last + 1) * docs.DAY_US) == "+10000-01-01T00:00:00Z"


def test_the_library_computes_the_same_capacity_of_every_preset(tmp_path):
    build = os.environ.get("FIRN_BUILD_DIR")
    if not build:
        pytest.skip("FIRN_BUILD_DIR names no build")
    build = pathlib.Path(build)
    (tmp_path / "capacity.c").write_text(PROGRAM)
    folder = examples.library(build)
    subprocess.run([*examples.compiler(build), "-std=c11", f"-I{ROOT / 'include'}",
                    tmp_path / "capacity.c", "-o", tmp_path / "capacity", f"-L{folder}", "-lfirn",
                    f"-Wl,-rpath,{folder}"], check=True)
    texts = [each["layout"] for each in PRESETS]
    printed = subprocess.run([tmp_path / "capacity", *texts], capture_output=True, text=True,
                             check=True).stdout.splitlines()
    assert len(printed) == len(texts)
    for text, row in zip(texts, printed):
        layout = docs.parse_layout(text)
        # The library writes "never" as the end, and all six decimals.
        end = datetime_with_decimals(docs.format_time(layout.end_us))
        assert row.split() == [str(each) for each in (
            layout.workers, layout.ids_per_tick, layout.first_us, layout.end_us,
            layout.negative_us or layout.end_us, end)], text


def datetime_with_decimals(text):
    """An instant's text with six decimals."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    return f"{whole}.{fraction:0<6}Z"


@pytest.fixture
def copy(tmp_path):
    """The sources of the documents, and the documents, elsewhere."""
    for name in ("include/firn/status.h", "tests/vectors/presets.json", *docs.DOCUMENTS):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    return tmp_path


def check(root):
    """The exit code of tools/docs.py --check."""
    return subprocess.run([sys.executable, ROOT / "tools/docs.py", "--check", "--root", root],
                          capture_output=True, check=False).returncode


@pytest.mark.parametrize("name,old,new", [
    ("include/firn/status.h", '"good"', '"very good"'),
    ("tests/vectors/presets.json", "t42d5w5s12", "t42d4w6s12"),
    ("docs/layouts.md", "2094", "2095"),
    ("docs/statuses.md", "-2", "-3"),
])
def test_a_stale_document_is_noticed(copy, name, old, new):
    assert check(copy) == 0
    text = (copy / name).read_text(encoding="utf-8")
    assert old in text
    (copy / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    assert check(copy) == 1
