from __future__ import annotations

import pytest
from typer.testing import CliRunner

PATIENTS = """\
id,age,smoker,since,state
001,25,no,2024-01-05,well
002,31,no,2024-01-07,well
003,47,yes,2024-02-01,ill
004,52,no,2024-03-01,ill
005,60,yes,2024-03-02,ill
006,38,,2024-03-02,well
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with one small table, and the same plain terminal everywhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "TERM_PROGRAM", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "patients.csv").write_text(PATIENTS)
    return tmp_path


@pytest.fixture
def opdt(folder):
    """Runs `opdt` with these arguments."""
    from opdt.cli.app import app

    def run(*arguments):
        return CliRunner().invoke(app, [str(a) for a in arguments], prog_name="opdt")

    return run


@pytest.fixture
def refused():
    """Checks that a command gave one sentence, exit code 2, and nothing else."""

    def check(result, *words, code=2):
        assert result.exit_code == code, result.stderr
        assert result.stdout == ""
        assert result.stderr.count("\n") == 1
        assert result.stderr.rstrip().endswith((".", "?"))
        assert "Traceback" not in result.stderr
        for word in words:
            assert word in result.stderr

    return check
