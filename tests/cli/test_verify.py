"""`opdt fit --certificate` and `opdt verify`."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from opdt.cli.app import app


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "patients.csv"
    rows = [f"{age},{'ill' if age >= 50 else 'well'}" for age in range(20, 80)]
    path.write_text("age,outcome\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_a_certificate_is_written_and_verified(data: Path, tmp_path: Path) -> None:
    run, path = CliRunner(), str(tmp_path / "rule.cert")
    done = run.invoke(app, ["fit", str(data), "--target", "outcome", "--certificate", path])
    assert done.exit_code == 0, done.output
    done = run.invoke(app, ["verify", path, str(data)])
    assert done.exit_code == 0, done.output
    assert "verified: no allowed rule has a VI above 30 " in " ".join(done.output.split())
    data.write_text(data.read_text(encoding="utf-8").replace("79,ill", "79,well"))
    done = run.invoke(app, ["verify", path, str(data)])
    assert done.exit_code == 2
    assert "the fingerprint differs" in " ".join(done.output.split())


def test_what_cannot_be_done_is_said_in_one_sentence(data: Path, tmp_path: Path) -> None:
    run, path = CliRunner(), str(tmp_path / "rule.cert")
    asked = ["fit", str(data), "--target", "outcome", "--certificate", path]
    for more, why in (
        (["--objective", "f1"], "a certificate is about the objectives"),
        (["--memory-limit", "1GB"], "'--certificate' needs the whole table in memory"),
    ):
        done = run.invoke(app, asked + more)
        assert done.exit_code == 2
        assert why in " ".join(done.output.split())
    done = run.invoke(app, ["verify", str(data), str(data)])
    assert done.exit_code == 2
    assert "is no certificate" in " ".join(done.output.split())
