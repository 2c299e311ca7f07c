# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The firn authors

"""The man pages are valid, complete, and say all that the headers' blocks say."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import headers  # noqa: E402  (the path above is what finds it)

PARSED = [headers.parse(path) for path in sorted((ROOT / "include/firn").glob("*.h"))]
PAGES = ["libfirn.3"] + [f"firn_{header.path.name}.3" for header in PARSED]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A man folder with every page in it."""
    folder = tmp_path_factory.mktemp("man")
    subprocess.run([sys.executable, ROOT / "tools/manpages.py", "--headers", ROOT / "include/firn",
                    "--out", folder / "man3"], check=True)
    return folder


def rendered(pages, name):
    """A page as a reader sees it, on lines wide enough that nothing is hyphenated."""
    done = subprocess.run(["mandoc", "-Tutf8", "-Owidth=500", f"man3/{name}"], cwd=pages,
                          capture_output=True, text=True, check=True)
    return re.sub(r".\x08", "", done.stdout).replace("\u2010", "-").replace("\u2212", "-")


@pytest.mark.parametrize("name", PAGES)
def test_mandoc_finds_nothing_to_say(pages, name):
    done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", f"man3/{name}"], cwd=pages,
                          capture_output=True, text=True, check=False)
    assert (done.stdout + done.stderr, done.returncode) == ("", 0)


def test_every_function_has_a_page_that_leads_to_its_header(pages):
    for header in PARSED:
        for function in header.declarations:
            if function.kind in ("function", "inline"):
                text = (pages / "man3" / f"{function.name}.3").read_text()
                assert text == f".so man3/firn_{header.path.name}.3\n"


@pytest.mark.parametrize("header", PARSED, ids=[header.path.name for header in PARSED])
def test_a_page_has_every_word_of_its_header(pages, header):
    page = set(re.findall(r"\w+", rendered(pages, f"firn_{header.path.name}.3")))
    comments = [header.top] + [each.comment for each in header.declarations
                               if each.name not in ("FIRN_API", "FIRN_CACHE_ALIGNED",
                                                    "FIRN_STATUS_LIST", "firn_status")]
    for comment in comments:
        missing = set(re.findall(r"\w+", "\n".join(comment))) - page
        assert not missing, f"of: {comment[0]}"


def test_the_library_page_lists_every_status_with_its_number(pages):
    text = rendered(pages, "libfirn.3")
    statuses = headers.parse_statuses((ROOT / "include/firn/status.h").read_text(encoding="utf-8"))
    assert len(statuses) > 40
    for status in statuses:
        assert f"{status.name} ({status.number})" in text


def test_pages_of_the_same_day_are_the_same(pages, tmp_path):
    command = [sys.executable, ROOT / "tools/manpages.py", "--headers", ROOT / "include/firn",
               "--out", tmp_path]
    subprocess.run(command, check=True, env={"SOURCE_DATE_EPOCH": "1760000000"})
    assert ".Dd October 9, 2025\n" in (tmp_path / "libfirn.3").read_text()
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    subprocess.run(command, check=True, env={"SOURCE_DATE_EPOCH": "1760000001"})
    assert first == {path.name: path.read_bytes() for path in tmp_path.iterdir()}
