# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The firn authors

"""Compares what the headers declare, what the version map lists and what the libraries define.

The headers are the contract; the map and the shared library must say the same, and the static
library may define no name outside firn's own.
"""
import argparse
import pathlib
import re
import subprocess
import sys

COMMENT = re.compile(r"/\*.*?\*/", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:.*\\\n)*.*$", re.M)
DECLARATION = re.compile(r"\bFIRN_API\b[^;(]*?\b(\w+)\s*\(")
NODE = re.compile(r"([\w.]+)\s*\{\s*global:(.*?)(?:local:\s*\*;\s*)?\}", re.S)


def declared(folder):
    names = set()
    for header in sorted(folder.glob("*.h")):
        text = DIRECTIVE.sub("", COMMENT.sub("", header.read_text()))
        found = DECLARATION.findall(text)
        if len(found) != len(re.findall(r"\bFIRN_API\b", text)):
            sys.exit(f"{header}: a FIRN_API without a function's name")
        names.update(found)
    return names


def mapped(path):
    """The symbols of the map, each with the name of its node."""
    text = COMMENT.sub("", path.read_text())
    return {
        symbol: node
        for node, body in NODE.findall(text)
        for symbol in re.findall(r"([\w*?]+)\s*;", body)
    }


def nm(*arguments):
    output = subprocess.run(["nm", *arguments], check=True, capture_output=True, text=True).stdout
    return [line.split()[-1] for line in output.splitlines() if len(line.split()) == 3]


def exported(library):
    """The dynamic symbols, each with its version, or "". The nodes' own symbols are left out."""
    pairs = [name.partition("@@")[::2] for name in nm("-D", "--defined-only", str(library))]
    nodes = {version for _, version in pairs}
    return {name: version for name, version in pairs if name not in nodes}


def differences(left_name, left, right_name, right):
    return [f"{name}: in {left_name}, not in {right_name}" for name in sorted(left - right)] + [
        f"{name}: in {right_name}, not in {left_name}" for name in sorted(right - left)
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--headers", type=pathlib.Path, required=True)
    parser.add_argument("--map", type=pathlib.Path)
    parser.add_argument("--shared", type=pathlib.Path, required=True)
    parser.add_argument("--static", type=pathlib.Path)
    options = parser.parse_args()

    headers = declared(options.headers)
    versions = exported(options.shared)
    faults = differences("the headers", headers, "the shared library", set(versions))
    if options.map:
        nodes = mapped(options.map)
        faults += differences("the headers", headers, "the map", set(nodes))
        faults += [
            f"{name}: version {version or 'none'} in the library, {nodes[name]} in the map"
            for name, version in versions.items()
            if nodes.get(name, version) != version
        ]
    if options.static:
        faults += [
            f"{name}: defined by the static library, and not a name of firn's"
            for name in nm("-g", "--defined-only", str(options.static))
            if not name.startswith(("firn_", "__odr_asan"))
        ]
    if not headers:
        faults.append("the headers declare nothing")
    print("\n".join(faults) if faults else f"{len(headers)} functions: headers, map, libraries agree")
    return 1 if faults else 0


sys.exit(main())
