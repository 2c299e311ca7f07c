#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The firn authors

"""Writes docs/statuses.md and docs/layouts.md from FIRN_STATUS_LIST and tests/vectors/presets.json.

    tools/docs.py           write them
    tools/docs.py --check   say whether they are up to date, and change nothing

Layouts are read and dates computed here, without the library: the figures are a second opinion on
the C code, which tests/lint/test_docs.py compares with this one.
"""

import argparse
import dataclasses
import datetime
import json
import pathlib
import re
import sys

import headers

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAYOUT = re.compile(r"((?:[tdwsx]\d+)+)(?:/(\d+)(us|ms|s))?(?:@([\d-]+))?")
TICK_UNITS_NS = {"us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
DEFAULT_EPOCH = "2025-01-01"
DAY_US = 86_400_000_000
NOTICE = "<!-- Written by tools/docs.py; change {source} and run it again. -->\n"


@dataclasses.dataclass
class Layout:
    """A layout: widths by letter, in the order of the bits."""
    bits: dict
    tick_ns: int
    epoch_ms: int

    @property
    def total(self):
        """How many of the 64 bits are used."""
        return sum(self.bits.values())

    @property
    def workers(self):
        """How many worker numbers there are; the datacenter is part of the number."""
        return 1 << (self.bits.get("d", 0) + self.bits.get("w", 0))

    @property
    def ids_per_tick(self):
        """Ids a worker makes in one tick."""
        return 1 << self.bits.get("s", 0)

    @property
    def first_us(self):
        """The start of tick 0."""
        return self.epoch_ms * 1000

    def after_ticks_us(self, ticks):
        """The instant at which so many ticks have passed. Whole microseconds: ticks are."""
        return self.first_us + ticks * self.tick_ns // 1000

    @property
    def end_us(self):
        """The end of the last tick."""
        return self.after_ticks_us(1 << self.bits["t"])

    @property
    def negative_us(self):
        """From here on bit 63 is set; None when the layout has no bit 63."""
        return self.after_ticks_us(1 << (self.bits["t"] - 1)) if self.total == 64 else None


def parse_layout(text):
    """Read a layout's text. Only what the presets use is checked: they are right by other tests."""
    match = LAYOUT.fullmatch(text)
    if not match:
        raise ValueError(f"not a layout: {text}")
    bits = {letter: int(width) for letter, width in re.findall(r"([a-z])(\d+)", match[1])}
    tick_ns = int(match[2]) * TICK_UNITS_NS[match[3]] if match[2] else TICK_UNITS_NS["ms"]
    return Layout(bits, tick_ns, parse_epoch_ms(match[4] or DEFAULT_EPOCH))


def parse_epoch_ms(text):
    """A date, or Unix milliseconds."""
    if "-" not in text:
        return int(text)
    days = datetime.date.fromisoformat(text) - datetime.date(1970, 1, 1)
    return days.days * 86_400_000


def civil(day):
    """Year, month and day of a day counted from 1970-01-01, in any year.

    datetime ends at the year 9999; the Gregorian calendar repeats itself every 400 years, which are
    146,097 days, so a day is moved into datetime's reach by whole cycles.
    """
    cycles = day // 146_097
    date = datetime.date(1970, 1, 1) + datetime.timedelta(days=day - cycles * 146_097)
    return date.year + cycles * 400, date.month, date.day


def format_time(at_us):
    """An instant as the library writes it: RFC 3339, and a sign on years beyond 9999."""
    day, rest = divmod(at_us, DAY_US)
    year, month, month_day = civil(day)
    seconds, micros = divmod(rest, 1_000_000)
    sign = "+" if year > 9999 else ""
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    fraction = f".{micros:06}".removesuffix("000") if micros else ""
    return f"{sign}{year:04}-{month:02}-{month_day:02}T{clock}{fraction}Z"


def format_tick(tick_ns):
    """A tick's length in the largest unit that it is a whole number of."""
    unit = next(each for each in ("s", "ms", "us") if tick_ns % TICK_UNITS_NS[each] == 0)
    return f"{tick_ns // TICK_UNITS_NS[unit]} {unit}"


def table(titles, rows):
    """A Markdown table."""
    def line(cells):
        return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |\n"
    return line(titles) + line(["---"] * len(titles)) + "".join(line(row) for row in rows)


def statuses_document(root):
    """docs/statuses.md"""
    text = (root / "include/firn/status.h").read_text(encoding="utf-8")
    rows = [(f"`{each.name}`", each.number, each.sentence, each.hint)
            for each in headers.parse_statuses(text)]
    return NOTICE.format(source="FIRN_STATUS_LIST in include/firn/status.h") + f"""
# Statuses

Every function of firn that can fail returns one of these numbers. 0 is good; a negative one failed
and left its outputs untouched; a positive one succeeded with a remark. Numbers never change their
meaning. `firn_status_name()`, `firn_status_text()` and `firn_status_hint()` give the columns of this
table in a program; a `firn_error` says more: which value was wrong, where, and what is allowed.

{table(("name", "number", "what it says", "what to do"), rows)}"""


GRAMMAR = """
# Layouts

A layout says how the 64 bits of an id are divided. It is written the same way everywhere in firn:

    t41w10s12@2025-01-01
    └──┬────┘ └───┬────┘
     fields     epoch

- **Fields** come first, highest bits first: a letter and how many bits. `t` is time and always stands
  first, `w` the worker, `s` the sequence inside a tick. `d` is a datacenter, the upper part of the
  worker number. `x` stands for bits whose meaning is not known: such a layout reads ids but never
  makes them. A letter that is left out has no bits. There are at most 64 bits in all; with fewer,
  ids have zeros in front.
- **The tick** is one unit of the time field: `/10ms`, `/1s`, `/1us`. It is a whole number of
  microseconds from 1 us to 1 s that divides a second, and 1 ms when it is not said.
- **The epoch** is where time 0 is: `@2025-01-01`, or Unix milliseconds as in `@1288834974657`. It is
  2025-01-01 when it is not said.

The name of a preset stands for its layout. `firn layout NAME` draws the bits and says more about any
layout, whether it is in the table or not.
"""

FIGURES = """
## What they can do

*Ids per tick* is for one worker. *Ends* is the first instant that has no id. *Negative from* is when
ids reach 2^63 and turn negative in a signed BIGINT: that happens half-way through the life of every
layout of 64 bits, and never with fewer.
"""


def layouts_document(root):
    """docs/layouts.md"""
    presets = json.loads((root / "tests/vectors/presets.json").read_text(encoding="utf-8"))
    sources = [(f"`{each['name']}`", f"`{each['layout']}`", each["note"], each["source"])
               for each in presets]
    figures = []
    for each in presets:
        layout = parse_layout(each["layout"])
        negative = layout.negative_us
        # The worker number of a layout with unknown bits may well be among them.
        unknown = "x" in layout.bits
        figures.append((f"`{each['name']}`", layout.total,
                        "unknown" if unknown else f"{layout.workers:,}",
                        "unknown" if unknown else f"{layout.ids_per_tick:,}",
                        format_tick(layout.tick_ns), format_time(layout.first_us),
                        format_time(layout.end_us), format_time(negative) if negative else "never"))
    titles = ("preset", "bits", "workers", "ids per tick", "tick", "starts", "ends", "negative from")
    return (NOTICE.format(source="tests/vectors/presets.json") + GRAMMAR + f"""
## Presets

{table(("preset", "layout", "note", "source"), sources)}{FIGURES}
{table(titles, figures)}""")


DOCUMENTS = {"docs/statuses.md": statuses_document, "docs/layouts.md": layouts_document}


def main():
    """Write the documents, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 when one is stale")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, metavar="DIR")
    arguments = parser.parse_args()
    stale = 0
    for name, document in DOCUMENTS.items():
        path, text = arguments.root / name, document(arguments.root)
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        if arguments.check:
            print(f"{name} is out of date: run tools/docs.py")
            stale = 1
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote {name}")
    return stale


if __name__ == "__main__":
    sys.exit(main())
