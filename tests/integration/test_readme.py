# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The firn authors
"""Every example of README.md does what a reader expects when it is pasted into a terminal."""
import re
import shutil
import subprocess

import pytest

from helpers import BUILD, DEADLINE_S, FIRN, SOURCE, environment

README = SOURCE / "README.md"


def blocks(language):
    """The fenced examples of a language: the line they stand in, and their text."""
    if not README.exists():
        return []
    text = README.read_text()
    return [pytest.param(found[1], id=f"line-{text.count(chr(10), 0, found.start()) + 1}")
            for found in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)]


@pytest.fixture
def home(tmp_path):
    """The home of somebody who has just installed firn."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "firn").symlink_to(FIRN)
    yield tmp_path
    shutil.rmtree(tmp_path)


def paste(home, text):
    """Runs an example in a shell that stops at the first command that fails."""
    env = environment(HOME=str(home), XDG_STATE_HOME=str(home / ".local" / "state"))
    env["PATH"] = f"{home}/bin:{env['PATH']}"
    return subprocess.run(["bash", "-eu", "-o", "pipefail", "-c", text], cwd=home, env=env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=DEADLINE_S)


@pytest.mark.skipif(not README.exists(), reason="README.md is not written yet")
def test_the_readme_has_examples():
    assert len(blocks("sh")) >= 5
    assert len(blocks("c")) >= 1


@pytest.mark.parametrize("text", blocks("sh"))
def test_an_example_of_the_readme_runs(home, text):
    done = paste(home, text)
    assert done.returncode == 0, (text, done.stdout, done.stderr)
    # An example that is meant to fail says so with || true; then it may complain.
    assert done.stderr == "" or "|| true" in text, (text, done.stderr)
    assert done.stdout != "", text


@pytest.mark.parametrize("text", blocks("sh"))
def test_an_example_of_the_readme_runs_a_second_time(home, text):
    if "firn init" in text:
        pytest.skip("a realm is made once")
    for _ in range(2):
        assert paste(home, text).returncode == 0, text


@pytest.mark.parametrize("text", blocks("c"))
def test_a_program_of_the_readme_compiles_without_a_warning_and_makes_ids(home, text):
    (home / "example.c").write_text(text)
    library = next(iter(BUILD.glob("**/libfirn.a")))
    flags = re.findall(r"-fsanitize=\S+|--coverage", cache("CMAKE_C_FLAGS"))
    build = [cache("CMAKE_C_COMPILER"), *flags, "-std=c99", "-Wall", "-Wextra", "-Werror",
             "-I", SOURCE / "include", "example.c", library, "-lsqlite3", "-pthread", "-o",
             "example"]
    done = subprocess.run(build, cwd=home, capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 0, done.stderr
    done = subprocess.run(["./example"], cwd=home, env=environment(), capture_output=True, text=True,
                          timeout=DEADLINE_S)
    assert done.returncode == 0, done.stderr
    ids = [int(line) for line in done.stdout.split()]
    assert len(ids) >= 1 and ids == sorted(set(ids))


def cache(name):
    """What the build was configured with."""
    found = re.search(rf"^{name}:\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.M)
    return found[1] if found else ""
