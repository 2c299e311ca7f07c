# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The firn authors

"""The public headers as data: top comments, examples, declarations and their blocks.

The lints, the man pages, the documents and the examples' test all read the headers through this
module, so that there is one reading of what a block says. It judges nothing: that is lint.py's.
"""

import dataclasses
import pathlib
import re

LABELS = ("Returns", "Order", "Threads", "Signals", "Fork", "Cost", "Source", "Since")

LABEL_LINE = re.compile(r"^([A-Z][a-z]+)(?:\s{2,}(\S.*))?$")
# Short labels may share a line: "Threads    safe.   Signals  safe."
LABEL_INSIDE = re.compile(r"\s{3,}(" + "|".join(LABELS) + r")\s{2,}")
PARAMETER_LINE = re.compile(r"^([a-z_]\w*)(\s+)(\S.*)$")
STATUS_ROW = re.compile(r'X\(\s*(FIRN_\w+)\s*,\s*(-?\d+)\s*,\s*("(?:\\.|[^"\\])*")\s*,\s*'
                        r'("(?:\\.|[^"\\])*")\s*\)')


@dataclasses.dataclass
class Status:
    """A row of FIRN_STATUS_LIST."""
    name: str
    number: int
    sentence: str
    hint: str


@dataclasses.dataclass
class Block:
    """A function's comment, taken apart. Texts keep their lines."""
    summary: list      # paragraphs, each a list of lines
    parameters: dict   # name -> lines
    labels: list       # (label, lines), in the order written
    strangers: list    # first words that look like a label or a parameter and are neither

    def label(self, name):
        """The lines of a label, or None."""
        return next((lines for label, lines in self.labels if label == name), None)


@dataclasses.dataclass
class Declaration:
    """A top-level thing in a header: a function, a type or a constant."""
    kind: str          # "function", "inline", "type" or "define"
    name: str
    code: str          # as it stands in the header
    comment: list      # lines without their stars; [] when there is none
    line: int
    returns: str = ""
    parameters: list = dataclasses.field(default_factory=list)  # (type, name)

    def block(self):
        """The comment as a block."""
        return parse_block(self.comment, [name for _, name in self.parameters])


@dataclasses.dataclass
class Header:
    """A public header."""
    path: pathlib.Path
    top: list          # the lines of the opening comment
    declarations: list

    def functions(self):
        """The exported functions."""
        return [each for each in self.declarations if each.kind == "function"]

    def example(self):
        """The first indented passage of the opening comment, without its indent."""
        for paragraph in passages(self.top):
            if paragraph[0].startswith("    "):
                return [line[4:] for line in paragraph]
        return []


def comment_lines(comment):
    """The lines of a C comment without the stars; outer blank lines dropped."""
    body = comment.strip().removeprefix("/*").removesuffix("*/")
    lines = [re.sub(r"^\s*\* ?", "", line).rstrip() for line in body.split("\n")]
    lines[0] = lines[0].strip()
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    return lines


def passages(lines):
    """Paragraphs, each a list of lines; code that goes on after a blank line stays together."""
    found = []
    for paragraph in paragraphs(lines):
        if found and is_code(found[-1][-1]) and is_code(paragraph[0]):
            found[-1] += [""] + paragraph
        else:
            found.append(paragraph)
    return found


def is_code(line):
    """Whether a comment's line is set off as code."""
    return line.startswith("    ")


def paragraphs(lines):
    """Runs of lines between blank ones."""
    found = [[]]
    for line in lines:
        if line:
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return [each for each in found if each]


def parse_block(lines, parameter_names):
    """Take a function's comment apart."""
    block = Block([], {}, [], [])
    for index, paragraph in enumerate(paragraphs(lines)):
        if index == 0 or not opens_section(paragraph[0], parameter_names):
            block.summary.append(paragraph)
            continue
        target = None
        for line in paragraph:
            target = parse_line(block, target, line, parameter_names)
    return block


def opens_section(line, parameter_names):
    """Whether a paragraph that starts so holds parameters or labels, not prose."""
    label = LABEL_LINE.match(line)
    parameter = PARAMETER_LINE.match(line)
    return bool(label or (parameter and (parameter[1] in parameter_names or
                                         len(parameter[2]) > 1)))


def parse_line(block, target, line, parameter_names):
    """Add one line of a section; returns the list that a continuation belongs to."""
    label = LABEL_LINE.match(line)
    if label:
        if label[1] not in LABELS:
            block.strangers.append(label[1])
        pieces = LABEL_INSIDE.split(label[2] or "")
        block.labels.append((label[1], [pieces[0]]))
        for name, text in zip(pieces[1::2], pieces[2::2]):
            block.labels.append((name, [text]))
        return block.labels[-1][1]
    parameter = PARAMETER_LINE.match(line)
    if parameter:
        if parameter[1] not in parameter_names:
            block.strangers.append(parameter[1])
        block.parameters[parameter[1]] = [parameter[3]]
        return block.parameters[parameter[1]]
    if target is None or not line.startswith(" "):
        block.strangers.append(line.split()[0])
        target = target if target is not None else []
    if LABEL_INSIDE.search(line):
        pieces = LABEL_INSIDE.split(line)
        target.append(pieces[0].strip())
        for name, text in zip(pieces[1::2], pieces[2::2]):
            block.labels.append((name, [text]))
        return block.labels[-1][1]
    target.append(line)
    return target


def parse_prototype(code):
    """A prototype's return type, name and parameters."""
    flat = " ".join(code.replace("FIRN_API", "").replace("static inline", "").split())
    match = re.match(r"^(.*?[\s*])(\w+)\s*\((.*?)\)\s*[;{]", flat)
    if not match:
        return "", "", []
    parameters = []
    for each in match[3].split(","):
        part = re.match(r"^\s*(.*?[\s*])(\w+)(\[\w*\])?\s*$", each)
        if part:
            parameters.append((part[1].strip(), part[2]))
    return match[1].strip(), match[2], parameters


def declaration_of(code, comment, line):
    """Name a top-level declaration."""
    if "FIRN_API" in code or code.startswith("static inline"):
        kind = "function" if "FIRN_API" in code else "inline"
        returns, name, parameters = parse_prototype(code)
        return Declaration(kind, name, code, comment, line, returns, parameters)
    match = re.search(r"(\w+)(?:\s+FIRN_CACHE_ALIGNED)?;\s*$", code)
    return Declaration("type", match[1] if match else "", code, comment, line)


def read_define(lines, index):
    """A preprocessor line with its continuations, and the index after it."""
    start = index
    while lines[index].endswith("\\") and index + 1 < len(lines):
        index += 1
    return "\n".join(lines[start:index + 1]), index + 1


def read_declaration(lines, index):
    """Lines up to the end of a declaration or of an inline function, and the index after it."""
    depth = 0
    start = index
    while index < len(lines):
        code = re.sub(r"/\*.*?\*/", "", lines[index])
        depth += code.count("{") - code.count("}")
        ended = code.rstrip().endswith(";") or code.rstrip() == "}"
        index += 1
        if depth == 0 and ended:
            break
    return "\n".join(lines[start:index]), index


def read_comment(lines, index):
    """A comment and the index after it."""
    start = index
    while "*/" not in lines[index] and index + 1 < len(lines):
        index += 1
    return "\n".join(lines[start:index + 1]), index + 1


def parse(path):
    """Read a header."""
    return parse_text(path, pathlib.Path(path).read_text(encoding="utf-8"))


def parse_text(path, text):
    """Read a header's text."""
    lines = text.split("\n")
    header = Header(pathlib.Path(path), [], [])
    comment, index = [], 0
    while index < len(lines):
        line = lines[index]
        if line.startswith("/*"):
            raw, index = read_comment(lines, index)
            comment = comment_lines(raw)
            if not header.top and "SPDX-" not in raw and not header.declarations:
                header.top, comment = comment, []
        elif line.startswith("#"):
            start = index
            code, index = read_define(lines, index)
            match = re.match(r"#define (FIRN_\w+)[ \t]+\S", code)
            if match:
                header.declarations.append(
                    Declaration("define", match[1], code, comment, start + 1))
            comment = []
        elif not line.strip() or line.startswith(("extern \"C\"", "}")):
            index, comment = index + 1, []
        else:
            start = index
            code, index = read_declaration(lines, index)
            header.declarations.append(declaration_of(code, comment, start + 1))
            comment = []
    return header


def unquote(literal):
    """The value of a C string literal without odd escapes."""
    return literal[1:-1].replace('\\"', '"').replace("\\\\", "\\")


def parse_statuses(text):
    """The rows of FIRN_STATUS_LIST in the text of firn/status.h."""
    start = text.find("#define FIRN_STATUS_LIST(X)")
    if start < 0:
        return []
    code, _ = read_define(text[start:].split("\n"), 0)
    code = code.replace("\\\n", "\n")
    return [Status(row[1], int(row[2]), unquote(row[3]), unquote(row[4]))
            for row in STATUS_ROW.finditer(code)]
