#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The firn authors

"""The example of every public header compiles, runs and does what its header says.

    tests/lint/examples.py BUILD_DIR [HEADER…]

A call whose result the example does not look at must succeed. What the example leaves behind, and
what it prints, is compared with the table below; a header that is not in it fails, so that no
example goes unjudged. Files that an example puts into /tmp go to a folder of this run.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import headers  # noqa: E402  (the path above is what finds it)

TIMEOUT_S = 60

# header -> (what must hold at the example's end, what stdout must match, what stderr must match)
EXPECTED = {
    "codec.h": ('id == 236065495965528067u && strcmp(text, "06HNCA5FC0W03") == 0', "", ""),
    "firn.h": ("id > 0", r"\d{17,20}\n", ""),
    "generator.h": ("status == FIRN_OK && (id >> 12) % 1024 == 7", "", ""),
    "layout.h": ("fields.time_us == INT64_C(1791972000123000)", "worker 7, sequence 3\n", ""),
    "registry.h": ("error.status == FIRN_OK", "", ""),
    "status.h": ("error.status == FIRN_E_LAYOUT_BITS", "", r".*\b72\b.*\n"),
    "time.h": ('strcmp(text, "2026-10-14T10:00:00.123Z") == 0', "", ""),
}

PROGRAM = """\
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "firn/firn.h"
#include "firn/{header}"

static int failures = 0;

static void must_succeed(int status, const char *call)
{{
    if (status < 0) {{
        printf("%s: %s\\n", call, firn_status_name(status));
        failures++;
    }}
}}

int main(void)
{{
    must_succeed(FIRN_OK, "what looks at every result itself");
{body}
    if (!({holds})) {{
        puts("at the end this does not hold: {shown}");
        return 1;
    }}
    return failures == 0 ? 0 : 1;
}}
"""


def checked(example, statuses):
    """Wrap the calls whose result nobody looks at, so that they must succeed."""
    names = "|".join(sorted(statuses, key=len, reverse=True))
    # A statement follows the end of another one; a call in a condition does not.
    return re.sub(rf"(?<=[;{{}}]\n)( *)((?:{names})\([^;{{]*\));",
                  lambda call: f'{call[1]}must_succeed({call[2]}, "{call[2].split("(")[0]}");',
                  example)


def program(header, statuses, folder):
    """The example as a program."""
    body = "\n".join(header.example()).replace("/tmp/", f"{folder}/")
    if re.search(r"\bmain\s*\(", body):
        return body
    holds = EXPECTED[header.path.name][0]
    indented = "\n".join("    " + line if line else "" for line in
                         checked(body, statuses).split("\n"))
    # error is only filled in on failure; the postcondition may look at it all the same.
    indented = indented.replace("firn_error error;", "firn_error error = {0};")
    return PROGRAM.format(header=header.path.name, body=indented, holds=holds,
                          shown=holds.replace('"', "'"))


def compiler(build):
    """The build's own C compiler and the flags that its objects must be linked with."""
    cache = (build / "CMakeCache.txt").read_text()
    found = re.search(r"(?m)^CMAKE_C_COMPILER:\w+=(.+)$", cache)
    flags = {flag for line in re.findall(r"(?m)^CMAKE_C_FLAGS\w*:\w+=(.+)$", cache)
             for flag in re.findall(r"-fsanitize=\S+|--coverage", line)}
    return [found[1], *sorted(flags)]


def library(build):
    """The folder of the shared library."""
    found = sorted(build.rglob("libfirn.so"))
    if not found:
        sys.exit(f"{build} holds no libfirn.so")
    return found[0].parent


def run_example(header, statuses, build, folder):
    """Compile and run one; a list of what is wrong."""
    if header.path.name not in EXPECTED:
        return ["tests/lint/examples.py does not say what this example must do"]
    source, binary = folder / f"{header.path.stem}.c", folder / header.path.stem
    source.write_text(program(header, statuses, folder))
    compiled = subprocess.run(
        [*compiler(build), "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}",
         source, "-o", binary, f"-L{library(build)}", "-lfirn", f"-Wl,-rpath,{library(build)}"],
        capture_output=True, text=True, check=False)
    if compiled.returncode:
        return [compiled.stderr]
    done = subprocess.run([binary], cwd=folder, capture_output=True, text=True, check=False,
                          timeout=TIMEOUT_S)
    _, stdout, stderr = EXPECTED[header.path.name]
    wrong = [f"exit code {done.returncode}"] if done.returncode else []
    for name, wanted, printed in (("stdout", stdout, done.stdout), ("stderr", stderr, done.stderr)):
        if not re.fullmatch(wanted, printed):
            wrong.append(f"{name} is {printed!r} and not {wanted!r}")
    return wrong


def main():
    """Every header with an example, or those named."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build, only = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    parsed = [headers.parse(path) for path in sorted((ROOT / "include" / "firn").glob("*.h"))]
    statuses = [each.name for header in parsed for each in header.functions()
                if each.returns == "int"]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="firn-examples-") as folder:
        for header in parsed:
            if not header.functions() or (only and header.path.name not in only):
                continue
            wrong = run_example(header, statuses, build, pathlib.Path(folder))
            print(f"{'FAILED' if wrong else 'ok':7}{header.path.name}")
            for each in wrong:
                print(f"       {each}")
            failed += bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
