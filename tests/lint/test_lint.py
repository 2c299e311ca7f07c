# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The firn authors

"""Every lint rule goes red on its own fault, and stays green on a small tree without one."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINT = ROOT / "tools" / "lint.py"
sys.path.insert(0, str(ROOT / "tools"))
import lint  # noqa: E402  (the path above is what finds it)

C_HEAD = ("/* SPDX-License-Identifier: Apache-2.0\n"
          " * SPDX-FileCopyrightText: The firn authors */\n\n")
HASH_HEAD = ("# SPDX-License-Identifier: Apache-2.0\n"
             "# SPDX-FileCopyrightText: The firn authors\n")
ABOUT = "/* What this file is and what it leaves to others. */\n"

BLOCK = """\
/*
 * Add one.
 *
 * number     what to add to.
 * sum_out    [1] the sum.
 *
 * Returns    FIRN_OK
 *            FIRN_E_ARGUMENT        sum_out is NULL
 * Threads    safe.   Signals  safe.
 * Since      0.1
 */
"""
HEADER = (C_HEAD + """\
/*
 * Sums.
 *
 *     int sum;
 *     firn_add(1, &sum);
 *
 * It subtracts nothing.
 */
#ifndef FIRN_SUM_H
#define FIRN_SUM_H

#include "firn/status.h"

""" + BLOCK + """\
FIRN_API int firn_add(int number, int *sum_out);

#endif
""")
STATUS = C_HEAD + """\
/* The statuses of this small tree, and nothing else. */
#ifndef FIRN_STATUS_H
#define FIRN_STATUS_H
#define FIRN_API __attribute__((visibility("default")))
#define FIRN_STATUS_LIST(X)                                                                        \\
    X(FIRN_OK, 0, "good", "nothing to do")                                                         \\
    X(FIRN_E_ARGUMENT, -1, "an argument is not allowed",                                           \\
      "read the block")
enum {
#define ROW(name, number, sentence, hint) name = (number),
    FIRN_STATUS_LIST(ROW)
};
#endif
"""
GOOD = {
    "include/firn/status.h": STATUS,
    "include/firn/sum.h": HEADER,
    "src/core/carry.h": C_HEAD + ABOUT + "int firn__carry(int number);\n",
    "src/core/carry.c": C_HEAD + ABOUT + '#include "core/carry.h"\n\n'
                        "int firn__carry(int number)\n{\n    return number + 1;\n}\n",
    "src/core/sum.c": C_HEAD + ABOUT + '#include "firn/sum.h"\n#include "core/carry.h"\n'
                      "int firn_add(int number, int *sum_out)\n{\n"
                      "    *sum_out = firn__carry(number);\n    return FIRN_OK;\n}\n",
    "src/CMakeLists.txt": HASH_HEAD + "add_library(firn core/sum.c core/carry.c)\n",
    "src/libfirn.map": C_HEAD + "FIRN_0 {\n  global:\n    firn_add;\n  local: *;\n};\n",
    "tests/CMakeLists.txt": HASH_HEAD + "foreach(name sum)\n"
                            "  add_executable(test_${name} test_${name}.c)\nendforeach()\n",
    "tests/test_sum.c": C_HEAD + ABOUT + "/* FIRN_OK FIRN_E_ARGUMENT */\n",
    "tools/run.sh": "#!/bin/sh\n" + HASH_HEAD + "true\n",
    "README.md": "# small\n\nSee [the guide](docs/guide.md).\n",
    "docs/guide.md": "# guide\n",
}


@pytest.fixture
def tree(tmp_path):
    """A small tree with nothing wrong in it."""
    for path, text in GOOD.items():
        write(tmp_path, path, text)
    return tmp_path


def write(root, path, text):
    """Put a file into the tree."""
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, encoding="utf-8")


def run(root, *arguments):
    """Run the lint on a tree; its exit code and what it printed."""
    done = subprocess.run([sys.executable, LINT, "--root", root, *arguments],
                          capture_output=True, text=True, check=False, timeout=60)
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout


def core(body):
    """A core file with something in it, built as core/sum.c is."""
    return {"src/core/sum.c": GOOD["src/core/sum.c"] + body}


def header(old, new):
    """The public header with one passage replaced."""
    assert old in HEADER
    return {"include/firn/sum.h": HEADER.replace(old, new)}


# (rule, what it is about, files to plant, what the finding must say)
FAULTS = [
    ("layers", "core includes the registry", core('#include "registry/lease.h"\n'),
     'core may not include "registry/lease.h"'),
    ("layers", "core includes a clock", core("#include <time.h>\n"), "<time.h>"),
    ("layers", "core includes unistd", core("#include <unistd.h>\n"), "<unistd.h>"),
    ("layers", "core includes threads", core("#include <pthread.h>\n"), "<pthread.h>"),
    ("layers", "core includes sys", core("#include <sys/stat.h>\n"), "<sys/stat.h>"),
    ("layers", "port includes the registry",
     {"src/port/clock.c": C_HEAD + ABOUT + '#include "registry/lease.h"\n'}, "port may not"),
    ("layers", "the command includes the core",
     {"src/cli/main.c": C_HEAD + ABOUT + '#include "core/carry.h"\n'}, "cli may not"),
    ("layers", "ours between angles", core("#include <firn/sum.h>\n"), "is ours"),
    ("layers", "a bare file name", core('#include "carry.h"\n'), 'may not include "carry.h"'),
    ("layers", "a header that needs stdio", header('#include "firn/status.h"',
                                                   "#include <stdio.h>"), "<stdio.h>"),
    ("layers", "an unknown layer", {"src/odd/x.c": C_HEAD + ABOUT}, "no layer is called 'odd'"),
    ("banned-calls", "printf in the core", core("void f(void) { printf(1); }\n"), "printf()"),
    ("banned-calls", "exit in the library", core("void f(void) { exit(1); }\n"), "exit()"),
    ("banned-calls", "assert in the library", core("void f(void) { assert(1); }\n"), "assert()"),
    ("banned-calls", "getenv in the registry",
     {"src/registry/x.c": C_HEAD + ABOUT + "int f(void) { return !getenv(0); }\n"}, "getenv()"),
    ("banned-calls", "a clock in the registry",
     {"src/registry/x.c": C_HEAD + ABOUT + "int f(void) { return clock_gettime(0, 0); }\n"},
     "clock_gettime()"),
    ("banned-calls", "a sleep in the command",
     {"src/cli/x.c": C_HEAD + ABOUT + "int f(void) { return usleep(1); }\n"}, "usleep()"),
    ("banned-calls", "strcpy in a test",
     {"tests/test_sum.c": GOOD["tests/test_sum.c"] + "void f(void) { strcpy(0, 0); }\n"},
     "strcpy()"),
    ("banned-calls", "malloc in the core", core("void *f(void) { return malloc(1); }\n"),
     "malloc()"),
    ("platform-ifdefs", "Linux in the core", core("#ifdef __linux__\n#endif\n"), "__linux__"),
    ("platform-ifdefs", "Windows in an elif", core("#if 0\n#elif defined(_WIN32)\n#endif\n"),
     "_WIN32"),
    ("left-overs", "in a comment", core("/* TO" "DO: later */\n"), "is left over"),
    ("left-overs", "in a document", {"docs/guide.md": "FIX" "ME\n"}, "is left over"),
    ("head", "C without a head", {"src/core/sum.c": ABOUT}, "src/core/sum.c:1"),
    ("head", "C with the wrong comment",
     {"src/core/sum.c": C_HEAD.replace("/*", "//") + ABOUT}, "src/core/sum.c:1"),
    ("head", "a script without a head", {"tools/run.sh": "#!/bin/sh\ntrue\n"}, "tools/run.sh:1"),
    ("head", "a script without a suffix", {"go": "#!/bin/sh\ntrue\n"}, "go:1"),
    ("head", "CMake without a head", {"src/CMakeLists.txt": "project(x)\n"},
     "src/CMakeLists.txt:1"),
    ("opening-paragraph", "code at once", {"src/core/sum.c": C_HEAD + "int x;\n"}, "no paragraph"),
    ("opening-paragraph", "two words", {"src/core/sum.c": C_HEAD + "/* The sum. */\n"},
     "no paragraph"),
    ("doc-blocks", "no block", header(BLOCK, ""), "firn_add: has no block"),
    ("doc-blocks", "no Returns",
     header(" * Returns    FIRN_OK\n *            FIRN_E_ARGUMENT        sum_out is NULL\n", ""),
     "what it Returns"),
    ("doc-blocks", "no Threads", header(" * Threads    safe.   Signals  safe.\n", ""),
     "about Threads"),
    ("doc-blocks", "out of order",
     header(" * Threads    safe.   Signals  safe.\n * Since      0.1\n",
            " * Since      0.1\n * Threads    safe.\n"), "out of order"),
    ("doc-blocks", "an unknown label", header(" * Since  ", " * Beware "), "'Beware'"),
    ("doc-blocks", "a parameter that is none", header(" * number ", " * addend "), "'addend'"),
    ("doc-blocks", "a line that a formatter has broken",
     header("sum_out is NULL\n", "sum_out\n * is NULL\n"), "'is'"),
    ("doc-parameters", "a parameter without a word",
     header("int number,", "int number, int twist,"), "does not name 'twist'"),
    ("doc-statuses", "a status that is none", header("FIRN_E_ARGUMENT ", "FIRN_E_ARGUMEND "),
     "FIRN_E_ARGUMEND"),
    ("doc-statuses", "a family that is none", header("FIRN_E_ARGUMENT ", "FIRN_E_MOON_… "),
     "FIRN_E_MOON_…"),
    ("header-example", "no example",
     header(" *     int sum;\n *     firn_add(1, &sum);\n", " * None.\n"), "no indented example"),
    ("unbuilt", "a source that nobody builds", {"src/core/lost.c": C_HEAD + ABOUT},
     "src/core/lost.c:1"),
    ("unbuilt", "a test that nobody registers", {"tests/test_lost.c": C_HEAD + ABOUT},
     "tests/test_lost.c:1"),
    ("unbuilt", "a script that nobody registers", {"tests/test_lost.py": HASH_HEAD},
     "tests/test_lost.py:1"),
    ("unlinked-documents", "a lost page", {"docs/lost.md": "# lost\n"}, "docs/lost.md:1"),
    ("dead-links", "a link to nothing", {"docs/guide.md": "[x](../gone.md)\n"}, "gone.md"),
    ("dead-links", "a hint that points at nothing",
     {"include/firn/status.h": STATUS.replace("read the block", "see docs/gone.md")},
     "docs/gone.md"),
    ("unused-internals", "a function for nobody",
     {"src/core/carry.h": GOOD["src/core/carry.h"] + "int firn__lost(void);\n",
      "src/core/carry.c": GOOD["src/core/carry.c"] + "int firn__lost(void)\n{\n    return 1;\n}\n"},
     "firn__lost"),
    ("untested-statuses", "a status without a test", {"tests/test_sum.c": C_HEAD + ABOUT},
     "FIRN_E_ARGUMENT"),
    ("kept-promises", "a promise without its test",
     {"docs/promises.md": "| it adds | `adds_two_numbers_that_nobody_tests` |\n"},
     "there is no test adds_two_numbers_that_nobody_tests"),
    ("version-map", "no map", {"src/libfirn.map": None}, "no version map"),
    ("version-map", "one too few", {"src/libfirn.map": C_HEAD + "X { local: *; };\n"},
     "firn_add is declared"),
    ("version-map", "one too many",
     {"src/libfirn.map": C_HEAD + "X { global: firn_add; firn_lost; local: *; };\n"},
     "firn_lost is exported"),
    ("version-map", "a wildcard",
     {"src/libfirn.map": C_HEAD + "X { global: firn_add; firn_*; local: *; };\n"}, "wildcard"),
    ("version-map", "the rest is global",
     {"src/libfirn.map": C_HEAD + "X { global: firn_add; };\n"}, "'local: *;'"),
]
BUILD_FAULTS = [
    ("core-symbols", "an allocation", core("void *malloc(unsigned long);\n"
                                           "void *firn_m(void) { return malloc(1); }\n"),
     "malloc()"),
    ("core-symbols", "a clock behind a name of its own",
     core('extern int look(int) __asm__("clock_gettime");\n'
          "int firn_m(void) { return look(0); }\n"), "clock_gettime()"),
    ("exported-symbols", "more than the headers say",
     core("FIRN_API int firn_lost(void) { return 1; }\n"), "exports firn_lost"),
    ("exported-symbols", "less than the headers say",
     header("#endif", BLOCK + "FIRN_API int firn_subtract(int number, int *sum_out);\n#endif"),
     "does not export firn_subtract"),
    ("symbol-names", "a name without the prefix", core("int helper(void) { return 1; }\n"),
     "helper is visible"),
]


def plant(root, files):
    """Put a fault into the tree; None removes a file."""
    for path, text in files.items():
        if text is None:
            (root / path).unlink()
        else:
            write(root, path, text)


def build(root):
    """Build the small tree as CMake would, with a compile_commands.json."""
    rows, outputs = [], []
    out = root / "build"
    for source in sorted((root / "src" / "core").glob("*.c")):
        output = f"CMakeFiles/firn.dir/core/{source.name}.o"
        (out / output).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", "-w", "-fPIC", "-fvisibility=hidden", f"-I{root}/include",
                        f"-I{root}/src", "-c", source, "-o", output], cwd=out, check=True)
        rows.append({"directory": str(out), "file": str(source), "output": output,
                     "command": f"cc -I{root}/include -I{root}/src -c {source} -o {output}"})
        outputs.append(output)
    subprocess.run(["cc", "-shared", "-o", "libfirn.so", *outputs], cwd=out, check=True)
    (out / "compile_commands.json").write_text(json.dumps(rows))
    return out


def names_of(faults):
    """Test names."""
    return [f"{rule}: {about}" for rule, about, _, _ in faults]


def test_a_tree_without_faults_is_green(tree):
    code, output = run(tree, "--build", str(build(tree)))
    assert (code, output) == (0, f"lint: 0 errors, 0 warnings, {len(GOOD)} files\n")


@pytest.mark.parametrize("rule,about,files,says", FAULTS, ids=names_of(FAULTS))
def test_goes_red(tree, rule, about, files, says):
    plant(tree, files)
    code, output = run(tree, "--only", rule)
    assert code == 1, f"{about} went unnoticed"
    assert says in output and f"[{rule}]" in output


@pytest.mark.parametrize("rule,about,files,says", BUILD_FAULTS, ids=names_of(BUILD_FAULTS))
def test_goes_red_on_built_objects(tree, rule, about, files, says):
    plant(tree, files)
    code, output = run(tree, "--only", rule, "--build", str(build(tree)))
    assert code == 1, f"{about} went unnoticed"
    assert says in output and f"[{rule}]" in output


def test_every_rule_has_a_fault_that_turns_it_red():
    assert {rule for rule, _, _, _ in FAULTS + BUILD_FAULTS} == set(lint.RULES) - {"long"}


def test_long_functions_and_files_are_a_warning_only(tree):
    plant(tree, core("int f(void)\n{\n" + "    ;\n" * 71 + "}\n" + "\n" * 1000))
    code, output = run(tree, "--only", "long")
    assert code == 0
    assert "a function of 71 lines" in output and "lines; is there a seam?" in output


def test_words_in_comments_and_texts_are_no_calls(tree):
    plant(tree, core('/* exit(1) */\nstatic const char *t = "getenv(0) // \\" exit(2)";\n'
                     "int g(struct s *s) { return s->printf(1) + s->table.exit(2); }\n"))
    assert run(tree, "--only", "banned-calls")[0] == 0


def test_a_tree_that_git_keeps_is_read_as_git_sees_it(tree):
    subprocess.run(["git", "init", "--quiet", tree], check=True)
    write(tree, ".gitignore", "scratch/\n")
    write(tree, "scratch/x.c", "no head\n")
    assert run(tree, "--only", "head")[0] == 0
    write(tree, "kept/x.c", "no head\n")
    assert run(tree, "--only", "head")[0] == 1


def test_format_goes_red_on_a_file_that_clang_format_would_change(tree):
    write(tree, ".clang-format", (ROOT / ".clang-format").read_text())
    write(tree, "src/core/sum.c", C_HEAD + ABOUT + "int firn_x;\n")
    for path in ("include/firn/sum.h", "include/firn/status.h", "src/core/carry.c"):
        subprocess.run(["clang-format", "-i", tree / path], check=True)
    for path in ("src/core/carry.h", "tests/test_sum.c"):
        subprocess.run(["clang-format", "-i", tree / path], check=True)
    assert subprocess.run([sys.executable, LINT, "--root", tree, "format"],
                          capture_output=True, check=False).returncode == 0
    write(tree, "src/core/sum.c", C_HEAD + ABOUT + "int  firn_x ;\n")
    assert subprocess.run([sys.executable, LINT, "--root", tree, "format"],
                          capture_output=True, check=False).returncode == 1


def test_cppcheck_goes_red_on_an_index_out_of_bounds(tree):
    write(tree, ".cppcheck-suppressions", (ROOT / ".cppcheck-suppressions").read_text())
    command = [sys.executable, LINT, "--root", tree, "cppcheck"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    plant(tree, core("int f(void)\n{\n    int table[2] = {1, 2};\n    return table[2];\n}\n"))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "arrayIndexOutOfBounds" in done.stdout + done.stderr


def test_tidy_goes_red_on_a_leak(tree):
    write(tree, ".clang-tidy", (ROOT / ".clang-tidy").read_text())
    command = [sys.executable, LINT, "--root", tree, "tidy", "--build", build(tree)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, "tidy: 2 files, 0 with findings\n")
    plant(tree, core("#include <stdlib.h>\nint firn__leak(void);\nint firn__leak(void)\n{\n"
                     "    const char *text = malloc(2);\n    return text == NULL;\n}\n"))
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1 and "unix.Malloc" in done.stdout
