#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The firn authors

"""The house style as a check: layers, banned calls, doc blocks, heads, orphans, exports.

    tools/lint.py                          every rule, on this tree
    tools/lint.py --build build/dev        also the rules that look at built objects
    tools/lint.py --only layers --root DIR one rule, on another tree
    tools/lint.py --list                   the rules
    tools/lint.py format                   clang-format, without changing anything
    tools/lint.py tidy --build build/dev   clang-tidy, needs compile_commands.json
    tools/lint.py cppcheck                 cppcheck

It fails on what is wrong and only warns about what is long. Each rule is one function below, and
tests/lint/test_lint.py shows each one going red on a small tree with the fault planted.
"""

import argparse
import concurrent.futures
import dataclasses
import functools
import json
import os
import pathlib
import re
import subprocess
import sys

import headers

FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 1000

HEAD = ("SPDX-License-Identifier: Apache-2.0", "SPDX-FileCopyrightText: The firn authors")
C_SUFFIXES = {".c", ".h", ".cc", ".cpp", ".hpp"}
HASH_SUFFIXES = {".py", ".sh", ".bash", ".zsh", ".cmake", ".yml", ".yaml", ".toml", ".ini"}
SKIPPED_FOLDERS = {".git", ".cache", ".pytest_cache", "__pycache__", "node_modules", "out"}

# Which firn headers a layer may include: arrows only point downwards.
LAYERS = {
    "include": ("firn/",),
    "core": ("core/", "firn/"),
    "port": ("port/", "core/", "firn/"),
    "registry": ("registry/", "port/", "core/", "firn/"),
    "cli": ("cli/", "firn/"),
    "daemon": ("daemon/", "firn/"),
}
PURE_LIBC = {
    "ctype.h", "errno.h", "inttypes.h", "limits.h", "stdalign.h", "stdarg.h", "stdatomic.h",
    "stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdnoreturn.h", "string.h",
}
INCLUDE_LIBC = {"stddef.h", "stdint.h"}
LIBRARY = ("core", "port", "registry")

# Banned calls: what, where, and what is wrong with it.
UNSAFE = ("strcpy strcat sprintf vsprintf gets strtok atoi atol atoll atof rand srand alloca "
          "system popen tmpnam tempnam mktemp vfork").split()
PRINTING = "printf vprintf puts putchar fputs fputc putc perror fwrite".split()
ENDING = "exit _exit _Exit quick_exit abort assert longjmp siglongjmp".split()
ENVIRONMENT = "getenv secure_getenv setenv putenv unsetenv clearenv setlocale".split()
SIGNALS = "signal sigaction sigprocmask raise kill".split()
SLEEPING = "sleep usleep nanosleep clock_nanosleep thrd_sleep".split()
CLOCKS = ("clock_gettime clock_getres gettimeofday time clock timespec_get localtime localtime_r "
          "gmtime gmtime_r mktime").split()
STATIC_BUFFERS = "localtime gmtime ctime asctime strerror strsignal".split()
THREADS = "pthread_create thrd_create fork vfork clone".split()
FILES = "fopen open openat creat read write close unlink rename stat fstat lstat mmap".split()
MEMORY = "malloc calloc realloc free strdup strndup aligned_alloc posix_memalign".split()
BANS = (
    (UNSAFE, ("include", *LIBRARY, "cli", "daemon", "tests", "bench", "examples"),
     "is not safe; STYLE has better"),
    (PRINTING, ("include", *LIBRARY), "the library never prints or logs"),
    (["fprintf", "vfprintf", "dprintf", "syslog"], ("include", *LIBRARY),
     "the library never prints or logs"),
    (ENDING, ("include", *LIBRARY), "the library never ends the process"),
    (ENVIRONMENT, ("include", *LIBRARY), "the library never reads the environment"),
    (SIGNALS, ("include", *LIBRARY), "signals are the program's"),
    (SLEEPING, ("include", "core", "registry"), "sleeping is src/port's alone"),
    (["sleep", "usleep"], ("port", "cli", "daemon", "tests", "bench", "examples"),
     "wait for the event, with a deadline"),
    (CLOCKS, ("include", "core", "registry"), "clocks are read by src/port alone"),
    (STATIC_BUFFERS, (*LIBRARY, "daemon"), "shares a static buffer; use the _r form"),
    (THREADS, ("include", "core"), "the core starts nothing"),
    (FILES, ("include", "core"), "the core touches no file"),
    (MEMORY, ("include", "core"), "the core allocates nothing"),
)

PLATFORM = re.compile(
    r"\b(__linux__|__linux|__gnu_linux__|__unix__|__unix|__APPLE__|__MACH__|_WIN32|_WIN64|_MSC_VER"
    r"|__FreeBSD__|__OpenBSD__|__NetBSD__|__DragonFly__|__ANDROID__|__sun|__GLIBC__|__CYGWIN__"
    r"|__MINGW32__|__x86_64__|__i386__|__aarch64__|__arm__|__riscv|__powerpc64__|__s390x__"
    r"|CLOCK_[A-Z_]+|MADV_[A-Z_]+|SYS_\w+)\b")

# What the core's objects may leave to libc: strings, and the printf that writes into a buffer.
CORE_UNDEFINED = re.compile(
    r"^(mem(cpy|move|set|cmp|chr|rchr)|str(len|nlen|cmp|ncmp|chr|rchr|spn|cspn|pbrk|str)|v?snprintf"
    r"|__(v?snprintf|memcpy|memmove|memset)_chk|__isoc99_\w+|__stack_chk_fail|__errno_location"
    r"|__ctype_(b|tolower|toupper)_loc|_GLOBAL_OFFSET_TABLE_"
    r"|__(u?(mod|div)(ti3|di3)|mulodi4|muloti4)"        # the compiler's own 128-bit arithmetic
    r"|__(asan|ubsan|tsan|msan|sanitizer|gcov|sancov|llvm)\w*|(as|ub|ts)an_\w+)$")


@dataclasses.dataclass
class Finding:
    """Something a rule has to say about a line."""
    path: str
    line: int
    text: str
    warning: bool = False


class Tree:
    """The files below a root, read once. Paths are relative, with slashes."""

    def __init__(self, root, build=None):
        self.root = pathlib.Path(root).resolve()
        self.build = pathlib.Path(build).resolve() if build else None

    @functools.cached_property
    def paths(self):
        """Every file that belongs to the project: git's opinion where there is one."""
        if (self.root / ".git").exists():
            listed = subprocess.run(
                ["git", "-C", self.root, "ls-files", "-z", "--cached", "--others",
                 "--exclude-standard"], capture_output=True, check=False)
            if listed.returncode == 0:
                names = listed.stdout.decode().split("\0")
                return sorted({name for name in names if name and (self.root / name).is_file()})
        return sorted(self.walk())

    def walk(self):
        """The files on disk, build folders left out."""
        for folder, folders, names in os.walk(self.root):
            folders[:] = [each for each in folders
                          if each not in SKIPPED_FOLDERS and not each.startswith("build")]
            for name in names:
                yield (pathlib.Path(folder) / name).relative_to(self.root).as_posix()

    @functools.lru_cache(maxsize=None)
    def text(self, path):
        """A file's text; bytes that are not UTF-8 are replaced."""
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    @functools.lru_cache(maxsize=None)
    def code(self, path):
        """A C file's text with comments and literals blanked, lines kept."""
        return blank(self.text(path), literals=True)

    @functools.lru_cache(maxsize=None)
    def uncommented(self, path):
        """A C file's text with comments blanked, lines kept."""
        return blank(self.text(path), literals=False)

    def under(self, *folders, suffixes=(".c", ".h")):
        """The files in some folders with one of the suffixes."""
        prefixes = tuple(folder + "/" for folder in folders)
        return [path for path in self.paths
                if path.startswith(prefixes) and path.endswith(suffixes)]

    @functools.cached_property
    def public(self):
        """The public headers, read."""
        return {path: headers.parse_text(path, self.text(path))
                for path in self.under("include", suffixes=(".h",))}

    @functools.cached_property
    def statuses(self):
        """The names in FIRN_STATUS_LIST."""
        for path in self.public:
            rows = headers.parse_statuses(self.text(path))
            if rows:
                return [row.name for row in rows]
        return []

    @functools.cached_property
    def build_files(self):
        """CMake files and Makefiles, without their comments."""
        return {path: re.sub(r"(?m)#.*$", "", self.text(path)) for path in self.paths
                if path.endswith((".cmake", "CMakeLists.txt", "Makefile"))}


def blank(text, literals):
    """Overwrite comments, and literals too when asked, with blanks."""
    pattern = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)

    def cover(match):
        if match[0][0] in "\"'" and not literals:
            return match[0]
        return re.sub(r"[^\n]", " ", match[0])
    return pattern.sub(cover, text)


def line_of(text, offset):
    """The line number of an offset."""
    return text.count("\n", 0, offset) + 1


def layer_of(path):
    """The layer that a file belongs to: 'include', 'core', … or its top folder."""
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else parts[0]


RULES = {}


def rule(name, needs_build=False):
    """Register a rule: a function from a tree to findings. Its docstring is its description."""
    def register(function):
        RULES[name] = (function, needs_build)
        return function
    return register


@rule("layers")
def layers(tree):
    """Includes point downwards only: cli -> include; registry -> port -> core -> include."""
    for path in tree.under("src", "include"):
        layer = layer_of(path)
        allowed = LAYERS.get(layer)
        if allowed is None:
            yield Finding(path, 1, f"no layer is called '{layer}'; LAYERS here has them")
            continue
        text = tree.uncommented(path)
        for match in re.finditer(r'(?m)^\s*#\s*include\s+(["<])([^">]+)[">]', text):
            line = line_of(text, match.start(2))
            system, name = match[1] == "<", match[2]
            if not system and not name.startswith(allowed):
                yield Finding(path, line, f'{layer} may not include "{name}"; '
                                          f"only {', '.join(allowed)}")
            elif system and name.startswith(tuple(each + "/" for each in LAYERS) + ("firn/",)):
                yield Finding(path, line, f'<{name}> is ours: include it as "{name}"')
            elif system and layer == "core" and name not in PURE_LIBC:
                yield Finding(path, line, f"the core is pure: <{name}> is not in PURE_LIBC")
            elif system and layer == "include" and name not in INCLUDE_LIBC:
                yield Finding(path, line, f"public headers need no <{name}>")


@rule("banned-calls")
def banned_calls(tree):
    """No call that its layer may not make; the table BANS says which and why."""
    for path in tree.under("src", "include", "tests", "bench", "examples"):
        code = tree.code(path)
        for names, where, why in BANS:
            if layer_of(path) not in where:
                continue
            for match in re.finditer(r"(?<![\w.>])(" + "|".join(names) + r")\s*\(", code):
                yield Finding(path, line_of(code, match.start()), f"{match[1]}(): {why}")


@rule("platform-ifdefs")
def platform_ifdefs(tree):
    """Conditions on a platform stand in src/port and nowhere else."""
    for path in tree.under("src", "include"):
        if layer_of(path) == "port":
            continue
        code = tree.code(path)
        for match in re.finditer(r"(?m)^\s*#\s*(?:el)?if(?:n?def)?\b.*$", code):
            found = PLATFORM.search(match[0])
            if found:
                yield Finding(path, line_of(code, match.start()),
                              f"{found[1]} belongs in src/port")


@rule("left-overs")
def left_overs(tree):
    """No notes to self: finish it, or file an issue."""
    words = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
    for path in tree.paths:
        text = tree.text(path)
        for match in words.finditer(text):
            yield Finding(path, line_of(text, match.start()), f"{match[0]} is left over")


@rule("head")
def head(tree):
    """Every source file begins with the two SPDX lines, in its own kind of comment."""
    for path in tree.paths:
        style = comment_style(tree, path)
        lines = tree.text(path).split("\n")
        if lines[0].startswith(("#!", "#compdef")):
            lines.pop(0)
        wanted = {"c": (f"/* {HEAD[0]}", f" * {HEAD[1]} */"),
                  "#": (f"# {HEAD[0]}", f"# {HEAD[1]}"),
                  "--": (f"-- {HEAD[0]}", f"-- {HEAD[1]}")}.get(style)
        if wanted and tuple(lines[:2]) != wanted:
            yield Finding(path, 1, f"the file does not begin with '{wanted[0]}' and '{wanted[1]}'")


def comment_style(tree, path):
    """How a source file writes comments; None when it needs no head."""
    name, suffix = path.rsplit("/", 1)[-1], pathlib.PurePath(path.removesuffix(".in")).suffix
    if suffix in C_SUFFIXES or suffix == ".map":
        return "c"
    if suffix == ".sql":
        return "--"
    if suffix in HASH_SUFFIXES or name in ("CMakeLists.txt", "Makefile", ".clang-tidy"):
        return "#"
    if not suffix and tree.text(path).startswith("#!"):
        return "#"
    return None


@rule("opening-paragraph")
def opening_paragraph(tree):
    """After its head, a C file says what it is and what it leaves to others."""
    for path in tree.paths:
        if not path.endswith((".c", ".h")):
            continue
        after = tree.text(path).split("*/", 1)[-1].lstrip()
        comment = re.match(r"/\*(.*?)\*/", after, re.S)
        if not comment or len(comment[1].split()) < 5:
            yield Finding(path, 3, "no paragraph after the head says what this file is")


HANDLES = re.compile(r"^(const )?(firn|firn_generator|firn_registry|firn_run|firn_layout) ?\*$")


@rule("doc-blocks")
def doc_blocks(tree):
    """Every public function has a block: parameters, then the labels, in STYLE.md's order."""
    for path, header in tree.public.items():
        for function in header.declarations:
            if function.kind not in ("function", "inline"):
                continue
            for text in block_faults(function):
                yield Finding(path, function.line, f"{function.name}: {text}")


def block_faults(function):
    """What is wrong with a function's block, as sentences."""
    block = function.block()
    if not block.summary:
        yield "has no block above it"
        return
    if function.name.endswith("_fill"):
        return
    for stranger in block.strangers:
        yield f"'{stranger}' is neither a label nor a parameter"
    names = [label for label, _ in block.labels if label in headers.LABELS]
    if names != sorted(names, key=headers.LABELS.index):
        yield f"labels are out of order: {', '.join(names)}"
    if len(set(names)) != len(names):
        yield "a label stands twice"
    if function.returns != "void" and "Returns" not in names:
        yield "does not say what it Returns"
    if "Threads" not in names:
        yield "says nothing about Threads"


@rule("doc-parameters")
def doc_parameters(tree):
    """Every parameter is named in the block, or in the block that it refers to, or is the handle."""
    known = {each.name: each for header in tree.public.values() for each in header.functions()}
    for path, header in tree.public.items():
        for function in header.functions():
            if not function.comment or function.name.endswith("_fill"):
                continue
            text = "\n".join(function.comment)
            for other in refers_to(function, known):
                text += "\n" + "\n".join(other.comment)
            for index, (kind, name) in enumerate(function.parameters):
                handle = index == 0 and HANDLES.match(kind)
                if not handle and not re.search(rf"\b{name}\b", text):
                    yield Finding(path, function.line,
                                  f"{function.name}: its block does not name '{name}'")


def refers_to(function, known):
    """The functions that a block points at, and those that these point at."""
    found, waiting = {}, [function]
    while waiting:
        for name in re.findall(r"\b(firn_\w+)\(\)", "\n".join(waiting.pop().comment)):
            if name in known and name not in found:
                found[name] = known[name]
                waiting.append(known[name])
    return found.values()


@rule("doc-statuses")
def doc_statuses(tree):
    """Every status named in a block exists; FIRN_E_LAYOUT_… and …_IO stand for at least one."""
    for path, header in tree.public.items():
        for function in header.functions():
            text = "\n".join(function.comment)
            for match in re.finditer(r"FIRN_(?:[ER]_[A-Z0-9_]*|OK)…?|…_[A-Z0-9_]+", text):
                if not status_matches(match[0], tree.statuses):
                    yield Finding(path, function.line,
                                  f"{function.name}: there is no status {match[0]}")


def status_matches(word, statuses):
    """Whether a status, or a shortened one, is in the list."""
    if word.endswith("…"):
        return any(status.startswith(word[:-1]) for status in statuses)
    if word.startswith("…"):
        return any(status.endswith(word[1:]) for status in statuses)
    return word in statuses


@rule("header-example")
def header_example(tree):
    """Every public header that declares functions opens with an example."""
    for path, header in tree.public.items():
        if header.functions() and not header.example():
            yield Finding(path, 3, "the opening comment has no indented example")


@rule("unbuilt")
def unbuilt(tree):
    """Every C file, and every test, is named or globbed by a CMake file."""
    for path in tree.paths:
        top, name = path.split("/")[0], path.rsplit("/", 1)[-1]
        is_test = top == "tests" and re.match(r"test_\w+\.py$", name)
        if top in ("src", "tests", "bench", "examples", "postgres") and (
                name.endswith(".c") or is_test):
            if not is_built(tree, path):
                yield Finding(path, 1, "no CMakeLists.txt builds or registers this file")


def is_built(tree, path):
    """Whether a build file in this folder or one above names the file."""
    # ${variables} take their values in build files, or in scripts that run CMake.
    words = {word for script in [*tree.build_files, *tree.under("tests", suffixes=(".sh",))]
             if path.startswith(os.path.dirname(script))
             for word in re.findall(r"[\w/-]+", tree.text(script))}
    for build_path, text in tree.build_files.items():
        folder = build_path.rsplit("/", 1)[0] + "/" if "/" in build_path else ""
        if folder == "cmake/":
            folder = ""
        if path.startswith(folder) and any(token_names(token, path, path[len(folder):], words)
                                           for token in re.findall(r'[^\s()";]+', text)):
            return True
    return False


def token_names(token, path, relative, words):
    """Whether a word of a build file stands for a path: as a name, a glob or a pattern."""
    token = re.sub(r"^\$\{[^}]*(DIR|ROOT)[^}]*\}/", "", token)
    if token.endswith(".o") and relative.endswith(".c"):
        token = token[:-2] + ".c"
    if token in (relative, path):
        return True
    if "." not in token or not ("*" in token or "${" in token or "$<" in token):
        return False
    pattern = re.escape(re.sub(r"\$\{\w+\}", "\0", token))
    variable = "\0" in pattern
    pattern = pattern.replace(r"\*", "[^/]*").replace("\0", r"([\w/-]+)")
    match = re.fullmatch(pattern, relative) or re.fullmatch(pattern, path)
    if not match:
        return False
    # test_${name}.c names a file only if the word that ${name} takes stands somewhere too.
    return not variable or all(word in words for word in match.groups() if word)


@rule("unlinked-documents")
def unlinked_documents(tree):
    """Another document links to every document; a README stands for its folder."""
    linked = {target for path in tree.paths if path.endswith(".md")
              for _, target in links(tree, path) if target != path}
    for path in tree.paths:
        if path.endswith(".md") and not path.endswith("README.md") and path not in linked \
                and not path.startswith("."):
            yield Finding(path, 1, "no other document links here")


@rule("dead-links")
def dead_links(tree):
    """A document that another document, a header or a message points at exists."""
    for path in tree.paths:
        if path.endswith(".md"):
            for line, target in links(tree, path):
                if not (tree.root / target).exists():
                    yield Finding(path, line, f"links to {target}, which does not exist")
    for path in tree.under("include", "src"):
        text = tree.text(path)
        for match in re.finditer(r"(?<![\w/])[\w/-]+\.md\b", text):
            if match[0] not in tree.paths and f"docs/{match[0]}" not in tree.paths:
                yield Finding(path, line_of(text, match.start()),
                              f"speaks of {match[0]}, which does not exist")


def links(tree, path):
    """The relative links of a document, as line and target from the root."""
    text = re.sub(r"(?ms)^```.*?^```", lambda match: "\n" * match[0].count("\n"), tree.text(path))
    for match in re.finditer(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if not re.match(r"[a-z]+:", match[1]):
            target = os.path.normpath(os.path.join(os.path.dirname(path), match[1]))
            yield line_of(text, match.start()), target


@rule("unused-internals")
def unused_internals(tree):
    """A firn__ function in a header is used outside the file that defines it, or in the header."""
    sources = tree.under("src", "tests", "bench", "postgres", suffixes=(".c", ".h", ".cc", ".cpp"))
    words = {path: set(re.findall(r"\bfirn__\w+", tree.code(path))) for path in sources}
    for path in tree.under("src", suffixes=(".h",)):
        code = tree.code(path)
        # What starts at the margin declares; what is indented calls.
        for name in sorted(set(re.findall(r"(?m)^[a-z_][^\n;={}]*?\b(firn__\w+)\s*\(", code))):
            definition = re.compile(rf"(?m)^[^\s#/][^\n]*\b{name}\s*\([^;{{]*\)\s*\{{")
            here = definition.search(code) and len(re.findall(rf"\b{name}\b", code)) > 1
            users = here or [each for each in sources if name in words[each] and each != path
                             and not definition.search(tree.code(each))]
            if not users:
                offset = re.search(rf"\b{name}\b", code).start()
                yield Finding(path, line_of(code, offset), f"{name} is used by no other file")


@rule("untested-statuses")
def untested_statuses(tree):
    """Every status occurs in a test that can provoke it."""
    text = "\n".join(tree.text(path) for path in tree.paths
                     if path.startswith("tests/") and not path.startswith("tests/lint/"))
    tested = set(re.findall(r"\bFIRN_(?:OK|[ER]_[A-Z0-9_]+)\b", text))
    for status in tree.statuses:
        if status not in tested:
            yield Finding("tests", 1, f"no test mentions {status}")


@rule("kept-promises")
def kept_promises(tree):
    """Every test that docs/promises.md names exists."""
    path = "docs/promises.md"
    if path not in tree.paths:
        return
    known = set()
    for each in tree.paths:
        if each.startswith("tests/"):
            known.update(re.findall(r"\w+", tree.text(each)))
    for row, line in enumerate(tree.text(path).splitlines(), 1):
        for name in re.findall(r"`([a-z0-9]+(?:_[a-z0-9]+){2,})`", line):
            if name not in known:
                yield Finding(path, row, f"there is no test {name}")


@rule("version-map")
def version_map(tree):
    """src/libfirn.map lists the FIRN_API functions, one by one and no others."""
    path = "src/libfirn.map"
    if path not in tree.paths:
        yield Finding(path, 1, "there is no version map")
        return
    code = tree.code(path)
    mapped = set(re.findall(r"\b(firn_\w+)\s*;", code))
    declared = {each.name for header in tree.public.values() for each in header.functions()}
    if re.search(r"firn_\w*\*", code):
        yield Finding(path, 1, "a wildcard exports symbols that nobody decided to export")
    if not re.search(r"local\s*:\s*\*\s*;", code):
        yield Finding(path, 1, "'local: *;' is missing")
    for name in sorted(mapped - declared):
        yield Finding(path, 1, f"{name} is exported but no header declares it")
    for name in sorted(declared - mapped):
        yield Finding(path, 1, f"{name} is declared FIRN_API but not exported")


@rule("long")
def long_ones(tree):
    """Warns about functions over 70 lines and files over 1,000."""
    for path in tree.under("src", "include", "tests", "bench", "examples", "postgres"):
        lines = tree.text(path).split("\n")
        if len(lines) > FILE_LINES_MAX:
            yield Finding(path, 1, f"{len(lines)} lines; is there a seam?", warning=True)
        start = None
        for number, line in enumerate(lines, 1):
            if line == "{":
                start = number
            elif line == "}" and start:
                if number - start - 1 > FUNCTION_LINES_MAX:
                    yield Finding(path, start, f"a function of {number - start - 1} lines; "
                                               "is there a seam?", warning=True)
                start = None


def objects(tree, layer):
    """The built objects of a layer; the tests' and benchmarks' own copies are left out."""
    commands = tree.build / "compile_commands.json"
    rows = json.loads(commands.read_text()) if commands.exists() else []
    for row in rows:
        source = pathlib.Path(row["directory"], row["file"]).resolve()
        output = row.get("output") or output_of(row)
        if output and (tree.root / "src" / layer) in source.parents \
                and not output.startswith(("tests/", "bench/")):
            built = pathlib.Path(row["directory"], output)
            if built.exists():
                yield source.relative_to(tree.root).as_posix(), built


def output_of(row):
    """The -o of a compile command."""
    match = re.search(r"\s-o\s+(\S+)", row.get("command") or " ".join(row["arguments"]))
    return match[1] if match else None


def symbols(tool_arguments):
    """The names that nm prints."""
    listed = subprocess.run(["nm", *tool_arguments], capture_output=True, text=True, check=True)
    return [line.split()[-1].split("@")[0] for line in listed.stdout.splitlines() if line.strip()]


@rule("core-symbols", needs_build=True)
def core_symbols(tree):
    """The core's objects need nothing but each other and what CORE_UNDEFINED lists."""
    built = list(objects(tree, "core"))
    if not built:
        yield Finding(str(tree.build), 1, "no built objects of src/core; is this a build folder?")
    defined = {name for _, path in built for name in symbols(["--defined-only", path])}
    for source, path in built:
        for name in symbols(["-u", path]):
            if name not in defined and not CORE_UNDEFINED.match(name):
                yield Finding(source, 1, f"the core is pure: it may not need {name}()")


@rule("exported-symbols", needs_build=True)
def exported_symbols(tree):
    """The shared library exports the FIRN_API functions and nothing else."""
    declared = {each.name for header in tree.public.values() for each in header.functions()}
    for library in sorted(tree.build.rglob("libfirn.so")):
        # posix format is "name type …"; type A is the version node itself.
        rows = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", library],
                              capture_output=True, text=True, check=True).stdout.splitlines()
        exported = {row.split("@")[0].split()[0] for row in rows if row.split()[1] != "A"}
        for name in sorted(exported - declared):
            yield Finding(library.name, 1, f"exports {name}, which no header declares")
        for name in sorted(declared - exported):
            yield Finding(library.name, 1, f"does not export {name}")
        return
    yield Finding(str(tree.build), 1, "no libfirn.so; is this a build folder?")


@rule("symbol-names", needs_build=True)
def symbol_names(tree):
    """Whatever a library object defines for others is called firn_… or firn__…"""
    for layer in LIBRARY:
        for source, path in objects(tree, layer):
            for name in symbols(["-g", "--defined-only", path]):
                if not re.match(r"(firn_|__(asan|odr|sancov|llvm|gcov|profc|covrec))", name):
                    yield Finding(source, 1, f"{name} is visible to others but not called firn__…")


def check(arguments):
    """Run the rules; 1 when one found something wrong."""
    tree = Tree(arguments.root, arguments.build)
    failures = warnings = 0
    for name, (function, needs_build) in RULES.items():
        if arguments.only and name not in arguments.only:
            continue
        if needs_build and not tree.build:
            continue
        for finding in function(tree):
            kind = "warning" if finding.warning else "error"
            print(f"{finding.path}:{finding.line}: {kind}: {finding.text} [{name}]")
            failures += not finding.warning
            warnings += finding.warning
    print(f"lint: {failures} errors, {warnings} warnings, {len(tree.paths)} files")
    return 1 if failures else 0


def c_files(tree):
    """The C files that clang-format rules; postgres/ has its own law."""
    return tree.under("include", "src", "tests", "bench", "examples")


def check_format(arguments):
    """clang-format, as a question."""
    tree = Tree(arguments.root)
    return subprocess.run(["clang-format", "--dry-run", "-Werror", *c_files(tree)],
                          cwd=tree.root, check=False).returncode


def check_tidy(arguments):
    """clang-tidy on every source of ours in the build's compile_commands.json, once each."""
    tree = Tree(arguments.root, arguments.build)
    rows = json.loads((tree.build / "compile_commands.json").read_text())
    named = {pathlib.Path(row["directory"], row["file"]).resolve() for row in rows}
    wanted = tuple(tree.root / "src" / layer for layer in (*LIBRARY, "cli", "daemon"))
    sources = sorted(path for path in named if any(each in path.parents for each in wanted))
    if not sources:
        print(f"tidy: {tree.build} compiles nothing of {tree.root}/src")
        return 1

    def tidy(path):
        return subprocess.run(["clang-tidy", "--quiet", "-p", tree.build, path], cwd=tree.root,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              check=False)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for done in pool.map(tidy, sources):
            print(done.stdout, end="", flush=True)
            failed += done.returncode != 0
    print(f"tidy: {len(sources)} files, {failed} with findings")
    return 1 if failed else 0


def check_cppcheck(arguments):
    """cppcheck on the sources that are shipped."""
    tree = Tree(arguments.root)
    return subprocess.run(
        ["cppcheck", "--quiet", "--std=c11", "--enable=warning,performance,portability",
         "--inline-suppr", "--error-exitcode=1", "--suppressions-list=.cppcheck-suppressions",
         "--template={file}:{line}: {severity}: {message} [{id}]", "-Iinclude", "-Isrc", "-j2",
         *tree.under("src", suffixes=(".c",))], cwd=tree.root, check=False).returncode


COMMANDS = {"check": check, "format": check_format, "tidy": check_tidy, "cppcheck": check_cppcheck}


def main():
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="?", default="check", choices=COMMANDS)
    parser.add_argument("--root", default=pathlib.Path(__file__).parent.parent, metavar="DIR")
    parser.add_argument("--build", metavar="DIR", help="a build folder, for rules on objects")
    parser.add_argument("--only", action="append", choices=RULES, metavar="RULE")
    parser.add_argument("--list", action="store_true", help="the rules, one a line")
    arguments = parser.parse_args()
    if arguments.list:
        for name, (function, needs_build) in RULES.items():
            print(f"{name:20}{function.__doc__}{' Needs --build.' if needs_build else ''}")
        return 0
    if arguments.command == "tidy" and not arguments.build:
        parser.error("tidy needs --build")
    return COMMANDS[arguments.command](arguments)


if __name__ == "__main__":
    sys.exit(main())
