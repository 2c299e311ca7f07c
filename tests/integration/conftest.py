# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The firn authors
"""Fixtures and markers of the integration tests. FIRN_TEST_SCALE multiplies their repetitions; tests
marked `full` run from a scale of 10 on."""
import shutil

import pytest

from helpers import SCALE, Clock, Registry

FULL_SCALE = 10


def pytest_configure(config):
    config.addinivalue_line("markers", "full: larger; runs when FIRN_TEST_SCALE is 10 or more")


def pytest_collection_modifyitems(items):
    skip = pytest.mark.skip(reason=f"full: FIRN_TEST_SCALE is {SCALE:g}, below {FULL_SCALE}")
    for item in items:
        if item.get_closest_marker("full") and SCALE < FULL_SCALE:
            item.add_marker(skip)


@pytest.fixture
def registry(tmp_path):
    """An empty folder for a registry; its minters end, and its files go, with the test."""
    registry = Registry(tmp_path)
    yield registry
    registry.close()
    shutil.rmtree(tmp_path, ignore_errors=True)


@pytest.fixture
def moving_clock(tmp_path):
    """A clock that the test sets while processes run."""
    return Clock(file=tmp_path / "clock")
