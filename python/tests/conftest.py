# SPDX-License-Identifier: MIT
"""Shared by the package's tests: where our ROMs are, and a machine that runs STARFALL."""

import os
import pathlib

import pytest

import dotmatrix as dm

BUILD = pathlib.Path(os.environ.get("DM_BUILD_ROOT", pathlib.Path(__file__).parents[2] / "build"))


@pytest.fixture(scope="session")
def roms():
    folder = BUILD / "roms"
    if not (folder / "STARFALL.gb").exists():
        pytest.skip("no ROMs were built")
    return folder


@pytest.fixture
def starfall(roms):
    return str(roms / "STARFALL.gb")


@pytest.fixture
def gb(starfall):
    with dm.GameBoy(starfall) as machine:
        yield machine
