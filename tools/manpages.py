#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The firn authors

"""Writes man pages from the public headers: libfirn(3), one page a header, one name a function.

    tools/manpages.py --headers include/firn --out DIR

firn/layout.h becomes firn_layout.h(3), as the system's header pages are named; every function in it
gets a firn_….3 that includes that page, so that `man firn_layout_parse` works. The text is the
headers' own. firn(1) is the command's: `firn help --man` prints it.
"""

import argparse
import datetime
import os
import pathlib
import re
import sys

import headers

RESULT = r"(?:FIRN_[A-Z0-9_]+…?|…_[A-Z0-9_]+)"
RESULT_LINE = re.compile(rf"^({RESULT}(?:, {RESULT})*)(?: +(.*))?$")
SENTENCE_END = re.compile(r"(?<=[\w)\]\"][.?!]) +(?=[A-Z<])")


def escape(text):
    """Text that roff takes as it is."""
    text = text.replace("\\", "\\e").replace("…", "...")
    return re.sub(r"^([.'])", r"\\&\1", text)


def literal(text):
    """As escape, and a hyphen stays the character that can be copied."""
    return escape(text).replace("-", "\\-")


def argument(text):
    """A macro's argument: quoted, so that its words are not taken for macros."""
    return '"' + escape(text).replace('"', "\\(dq") + '"'


def prose(lines):
    """Filled text. A sentence's end ends the line, which roff sets right."""
    text = " ".join(line.strip() for line in lines)
    return [escape(part) for part in SENTENCE_END.split(text) if part]


def display(lines, offset="indent"):
    """Lines as they stand."""
    return [f".Bd -literal -offset {offset}", *(literal(line) for line in lines), ".Ed"]


def body(lines):
    """A comment: prose, with code and tables set off."""
    out = []
    for passage in headers.passages(lines):
        if headers.is_code(passage[0]):
            out += display([line[4:] for line in passage])
        elif passage[0].startswith("|"):
            out += display(passage, "left")
        else:
            out += [".Pp", *prose(passage)]
    return without_leading_break(out)


def without_leading_break(lines):
    """A .Pp at the start of a section or an item is an empty one."""
    return lines[1:] if lines and lines[0] == ".Pp" else lines


def description(lines):
    """A parameter's or label's text; deeper indented lines in it are a list of forms."""
    first, rest = lines[0].strip(), lines[1:]
    indents = [len(line) - len(line.lstrip()) for line in rest]
    base = min(indents, default=0)
    out, forms, text = [], [], [first]
    for line, indent in zip(rest, indents):
        if indent > base:
            if text:
                out, text = out + prose(text), []
            forms.append(line[base:])
        else:
            if forms:
                out, forms = out + display(forms), []
            text.append(line)
    return out + (prose(text) if text else []) + (display(forms) if forms else [])


def returns(lines):
    """The Returns label: a list of statuses, with the prose around them."""
    out, items, text = [], [], []
    for line in lines:
        match = RESULT_LINE.match(line.strip())
        if match:
            items.append((match[1], [match[2]] if match[2] else []))
        elif items:
            items[-1][1].append(line.strip())
        else:
            text.append(line)
    if text:
        out += prose(text)
    if items:
        out.append(".Bl -tag -width Ds -compact")
        for names, about in items:
            out += [f".It Dv {escape(names)}" if "," not in names else f".It {argument(names)}"]
            out += prose(about) if about else []
        out.append(".El")
    return out


def prototype(function):
    """A function in the SYNOPSIS."""
    out = [f".Ft {argument(function.returns)}", f".Fo {function.name}"]
    for kind, name in function.parameters:
        joint = "" if kind.endswith("*") else " "
        out.append(f".Fa {argument(kind + joint + name)}")
    if not function.parameters:
        out.append(".Fa void")
    return out + [".Fc"]


def function_section(function):
    """A function with its block."""
    block = function.block()
    out = [f".Ss {function.name}"]
    for index, paragraph in enumerate(block.summary):
        out += ([".Pp"] if index else []) + prose(paragraph)
    if block.parameters:
        out += [".Bl -tag -width Ds"]
        for name, lines in block.parameters.items():
            out += [f".It Fa {name}", *description(lines)]
        out += [".El"]
    if block.labels:
        out += [".Bl -tag -width Threads"]
        for label, lines in block.labels:
            out += [f".It {label}"]
            out += returns(lines) if label == "Returns" else prose(lines)
        out += [".El"]
    return out


def is_internal(declaration):
    """Macros that only make the header work."""
    return declaration.name in ("FIRN_API", "FIRN_CACHE_ALIGNED")


def types_section(header):
    """Types and constants, as they are declared."""
    shown = [each for each in header.declarations
             if each.kind in ("type", "define") and not is_internal(each)]
    out = [".Sh TYPES AND CONSTANTS"] if shown else []
    for index, each in enumerate(shown):
        if each.name == "firn_status":
            out += ["The statuses are listed in", ".Xr libfirn 3 ."]
            continue
        if each.comment:
            out += ([".Pp"] if index else []) + prose(each.comment)
        out += display(each.code.split("\n"))
    return out


def page_name(header):
    """firn/layout.h -> firn_layout.h"""
    return f"firn_{header.path.name}"


def opening(title, date, names, about):
    """The head of a page."""
    out = [".\\\" SPDX-License-Identifier: Apache-2.0",
           ".\\\" SPDX-FileCopyrightText: The firn authors",
           ".\\\" Written by tools/manpages.py from the public headers.",
           f".Dd {date:%B} {date.day}, {date.year}", f".Dt {title.upper()} 3", ".Os",
           ".Sh NAME"]
    out += [f".Nm {name} ," for name in names[:-1]] + [f".Nm {names[-1]}"]
    return out + [f".Nd {escape(about)}", ".Sh LIBRARY", "firn (libfirn, \\-lfirn)", ".Sh SYNOPSIS"]


def summary(header):
    """The first sentence of the opening comment, as .Nd wants it."""
    text = " ".join(headers.paragraphs(header.top)[0])
    first = re.split(r"[.](?: |$)", text)[0]
    return first[0].lower() + first[1:]


def see_also(names):
    """References, the last without a comma."""
    ordered = sorted(names)
    return [".Sh SEE ALSO"] + [f".Xr {name} 3 ," for name in ordered[:-1]] + \
        [f".Xr {ordered[-1]} 3"]


def header_page(header, everyone, date):
    """The page of a header."""
    functions = [each for each in header.declarations if each.kind in ("function", "inline")]
    name = page_name(header)
    out = opening(name, date, [name, *(each.name for each in functions)], summary(header))
    out += [f".In firn/{header.path.name}"]
    for function in functions:
        out += prototype(function)
    out += [".Sh DESCRIPTION", *body(header.top), *types_section(header)]
    if functions:
        out += [".Sh FUNCTIONS"]
    for function in functions:
        out += function_section(function)
    others = [page_name(each) for each in everyone if each is not header]
    return out + see_also([*others, "libfirn"])


def library_page(everyone, date):
    """libfirn(3): what there is, how to link, statuses, threads and fork."""
    by_name = {each.path.name: each for each in everyone}
    out = opening("libfirn", date, ["libfirn"], "unique 64-bit ids that sort by time")
    out += [".In firn/firn.h", ".Pp", "cc file.c $(pkg\\-config \\-\\-cflags \\-\\-libs firn)"]
    out += [".Sh DESCRIPTION", *body(by_name["firn.h"].top)]
    out += [".Ss Headers", ".Bl -tag -width firn_generator.h"]
    for header in everyone:
        out += [f".It Xr {page_name(header)} 3", escape(summary(header))]
    out += [".El", ".Pp", ".In firn/firn.h", "includes the others.",
            "They are C99 and also C++11."]
    out += LINKING
    out += [".Sh RETURN VALUES", *STATUSES, ".Bl -tag -width Ds"]
    for status in headers.parse_statuses(by_name["status.h"].path.read_text(encoding="utf-8")):
        out += [f".It Dv {status.name} Pq {status.number}", escape(status.sentence) + ":",
                escape(status.hint) + "."]
    out += [".El", *CONTEXT]
    return out + see_also([*(page_name(each) for each in everyone)])


LINKING = [
    ".Ss Linking",
    ".Xr pkg-config 1",
    "knows the library as",
    ".Li firn ;",
    "CMake as",
    ".Li firn::firn ,",
    "after",
    ".Li find_package(firn) .",
]
STATUSES = [
    "A status is an",
    ".Vt int :",
    "0 is good, a negative one failed and left its outputs untouched, a positive one succeeded with a",
    "remark.",
    "There is no last error to ask for; functions that can say more take a",
    ".Vt firn_error .",
]
CONTEXT = [
    ".Sh THREADS, SIGNALS AND FORK",
    "Each function's block says what it allows.",
    "As a rule, making ids is safe from any number of threads and takes no lock; reading and writing",
    "ids, layouts and times touches no shared state; opening and closing a handle is for one thread.",
    "No thread is started that was not asked for.",
    ".Pp",
    "After",
    ".Xr fork 2 ,",
    "parent and child may both go on using a handle of",
    ".Xr firn_firn.h 3 :",
    "they share one lease and never make the same id.",
    "A generator of",
    ".Xr firn_generator.h 3",
    "is shared only when it lies in shared memory; in private memory a child must not use it.",
]


def page_date(paths):
    """SOURCE_DATE_EPOCH's day, so that builds repeat; else the newest header's."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    seconds = int(epoch) if epoch else max(path.stat().st_mtime for path in paths)
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).date()


def main():
    """Write every page."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headers", type=pathlib.Path, required=True, metavar="DIR")
    parser.add_argument("--out", type=pathlib.Path, required=True, metavar="DIR")
    arguments = parser.parse_args()
    paths = sorted(arguments.headers.glob("*.h"))
    if not paths:
        parser.error(f"{arguments.headers} holds no headers")
    everyone, date = [headers.parse(path) for path in paths], page_date(paths)
    arguments.out.mkdir(parents=True, exist_ok=True)
    pages = {"libfirn": library_page(everyone, date)}
    for header in everyone:
        pages[page_name(header)] = header_page(header, everyone, date)
        for function in header.declarations:
            if function.kind in ("function", "inline"):
                pages[function.name] = [f".so man3/{page_name(header)}.3"]
    for name, lines in pages.items():
        text = "\n".join(lines) + "\n"
        (arguments.out / f"{name}.3").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
