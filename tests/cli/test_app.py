from __future__ import annotations

import os
import subprocess
import sys

import pytest

import opdt as package
from opdt.cli import aim
from opdt.errors import EngineFailure


def test_the_version_is_that_of_the_package(opdt):
    result = opdt("--version")
    assert (result.exit_code, result.stdout) == (0, f"opdt {package.__version__}\n")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_the_commands_and_the_exit_codes(opdt, arguments):
    result = opdt(*arguments)
    assert result.exit_code == 0
    for word in ("demo", "fit", "apply", "engines", "Exit codes: 0 done; 2", "130 interrupted"):
        assert word in result.stdout


@pytest.mark.parametrize("command", ["demo", "fit", "apply", "engines"])
def test_the_help_of_each_command_shows_an_example(opdt, command):
    result = opdt(command, "--help")
    assert result.exit_code == 0
    assert f"$ opdt {command}" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--nothing"], ["--nothing", "see 'opdt --help'"]),
        (["fitt"], ["fitt", "see 'opdt --help'"]),
        (["fit"], ["see 'opdt fit --help'"]),
        (["fit", "patients.csv"], ["--target", "see 'opdt fit --help'"]),
        (["fit", "patients.csv", "--target", "state", "--depth", "two"], ["--depth"]),
        (["apply", "rule.json"], ["see 'opdt apply --help'"]),
    ],
)
def test_wrong_use_of_the_command_line_is_one_sentence(opdt, refused, arguments, words):
    refused(opdt(*arguments), *words)


def test_engines_lists_each_engine_with_what_it_proves(opdt):
    result = opdt("engines")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    for name in package.engine_names():
        assert any(line.startswith(name) for line in lines)
    assert any(line.split()[:3] == ["exhaustive", "optimum", "yes"] for line in lines)


def test_a_missing_package_is_listed_with_the_extra_to_install(opdt, monkeypatch):
    from opdt.engines.registry import ENGINES, EngineEntry

    entry = EngineEntry("nowhere:Engine", False, "does nothing", ("no_such_package",), "extra")
    monkeypatch.setitem(ENGINES, "absent", entry)
    (line,) = [each for each in opdt("engines").stdout.splitlines() if "absent" in each]
    assert "pip install 'opdt[extra]'" in line
    assert "nothing" in line


@pytest.mark.parametrize("engine", ["search", "exhaustive"])
def test_demo_shows_a_rule_with_its_numbers_and_its_proof(opdt, engine):
    result = opdt("demo", "--depth", 1, "--engine", engine)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "Breast cancer: 569 tumours, 30 measurements of each."
    assert lines[1] == "The best rule of at most 1 condition:"
    assert lines[3].startswith("IF   ")
    shown = ["VI", "precision", "coverage", "lift", "status", "verdict", "time"]
    assert [line.split()[0] for line in lines[6:] if line.split()[0] in shown] == shown
    assert "proven optimal" in result.stdout


def test_an_interrupted_command_exits_with_130(opdt, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(aim, "class_of", interrupt)
    result = opdt("fit", "patients.csv", "--target", "state", "--label", "ill")
    assert result.exit_code == 130
    assert "Traceback" not in result.output


@pytest.mark.parametrize("error", [RuntimeError("two\nlines."), EngineFailure("two lines.")])
def test_an_unexpected_error_is_one_line_that_asks_for_a_report(opdt, refused, monkeypatch, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(aim, "class_of", fail)
    arguments = ["fit", "patients.csv", "--target", "state", "--label", "ill"]
    refused(opdt(*arguments), "two lines.", "please report it", code=1)
    assert opdt("--debug", *arguments).exception is error


def run(*arguments, **options):
    command = [sys.executable, "-c", "from opdt.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


def test_the_installed_command_answers_in_its_own_process(folder):
    done = run("fit", "patients.csv", "--target", "state", "--engine", "exhaustive", "--paper")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("IF   age >= 40\nTHEN ill\n")
    failed = run("fit", "patients.csv", "--target", "stat")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr == "there is no column 'stat' in X; did you mean 'state'?\n"


def test_help_imports_neither_scikit_learn_nor_a_data_frame_library(folder):
    code = (
        "import sys\n"
        "sys.argv = ['opdt', '--help']\n"
        "from opdt.cli import main\n"
        "try:\n    main()\nfinally:\n    print(sorted(sys.modules), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0
    for package_name in ("sklearn", "scipy", "numba", "pandas", "polars", "pyarrow"):
        assert f"'{package_name}'" not in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="closed pipes differ there")
def test_a_reader_that_stops_early_causes_no_traceback(folder):
    rule = '{"opdt_rule": 1, "label": "ill", "conditions": []}'
    (folder / "rule.json").write_text(rule)
    (folder / "long.csv").write_text("a\n" + "1\n" * 200_000)
    command = [sys.executable, "-c", "from opdt.cli import main; main()"]
    with subprocess.Popen(
        [*command, "apply", "rule.json", "long.csv"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"a,rule\n"
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


def test_the_shell_completes_commands(folder):
    words = {"COMP_WORDS": "opdt ex", "COMP_CWORD": "1", "_OPDT_COMPLETE": "complete_bash"}
    result = run(env={**os.environ, **words})
    assert set(result.stdout.split()) == {"explain", "export"}
