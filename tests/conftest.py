"""Settings and fixtures that every test shares."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]

# No profile has a deadline: tests check results, and a first call compiles. The same examples every
# time, so that who changes nothing breaks nothing; "thorough" draws new ones.
UNTIMED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("default", max_examples=50, derandomize=True, **UNTIMED)
settings.register_profile("ci", max_examples=50, derandomize=True, print_blob=True, **UNTIMED)
settings.register_profile("thorough", max_examples=2000, print_blob=True, **UNTIMED)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# A shell that starts the tests in the background has them ignore Ctrl-C, which some of them send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# What a test needs beside Python is said once, by the file, the folder or the fixture it uses.
FILES = {
    "cluster": ("scale/test_dask.py", "scale/test_spark.py", "rules/test_lazy.py"),
    "docs": ("test_documentation.py",),
    "picture": ("plot/",),
    "solver": ("engines/mip/", "estimators/test_engines.py"),
    "database": ("rules/test_sql_databases.py",),
    "process": (
        "baselines/test_contract.py",
        "cli/test_app.py",
        "engines/search/test_compilation.py",
        "engines/search/test_processes.py",
        "experiments/test_kill.py",
        "experiments/test_runner.py",
        "scale/test_local.py",
        "studio/test_session",
        "studio/test_takeaway.py",
        "test_limits.py",
    ),
    "property": (  # those that draw their cases with NumPy; Hypothesis is known by itself
        "analysis/test_alternatives.py",
        "analysis/test_both_paths.py",
        "analysis/test_column_generation.py",
        "analysis/test_frontier.py",
        "analysis/test_path.py",
        "analysis/test_permutation.py",
        "analysis/test_permutation_limits.py",
        "analysis/test_permutation_whole.py",
        "analysis/test_stability.py",
        "device/",
        "engines/search/test_anytime.py",
        "engines/search/test_collect.py",
        "engines/search/test_search.py",
        "engines/search/test_searcher.py",
        "engines/search/test_subsets.py",
        "engines/test_contract.py",
        "engines/test_exhaustive.py",
        "engines/test_measures.py",
        "engines/test_precision.py",
        "engines/test_row_limits.py",
        "objectives/test_brute_force.py",
        "objectives/test_doubly_robust.py",
        "scale/test_precision.py",
        "scale/test_search.py",
        "scale/test_search_cases.py",
        "scale/test_search_refining.py",
    ),
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark each test by what it needs, so that `-m` can leave it out."""
    for item in items:
        path = item.path.as_posix()
        for mark, parts in FILES.items():
            if any(f"/tests/{part}" in path for part in parts):
                item.add_marker(mark)
        if "browser" in getattr(item, "fixturenames", ()) or "studio/web" in path:
            item.add_marker("browser")
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("property")
        if item.name.startswith("test_every_check_of_scikit_learn_passes"):
            item.add_marker("contract")
    if hasattr(config, "workerinput"):  # one of several workers
        from sharing import group_of, rank_of

        items.sort(key=lambda item: rank_of(group_of(item.nodeid, ALONE)))


ALONE = {f"tests/{name}" for mark in ("docs", "property") for name in FILES[mark]}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if config.getoption("dist") != "loadfile":
        return None
    from sharing import Groups

    return Groups(config, log, ALONE)


@pytest.fixture(scope="session")
def data_folder() -> Path | None:
    """The folder with the paper's data: OPDT_DATA, or the one beside the checkout; else None."""
    folder = Path(os.environ.get("OPDT_DATA", ROOT.parent / "shared" / "data" / "uci"))
    return folder.resolve() if folder.is_dir() else None


@pytest.fixture
def uci_folder(data_folder: Path | None) -> Path:
    """The folder with the paper's data; a test that asks for it is skipped where it is missing."""
    if data_folder is None:
        pytest.skip("the paper's data are not here; set OPDT_DATA to their folder")
    return data_folder


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One Spark for all tests: to start it takes longer than any of them."""
    sql = pytest.importorskip("pyspark.sql", reason="pip install 'opdt[spark]'")
    if shutil.which("java") is None:
        pytest.skip("Spark needs a Java runtime")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": "1g",
        "spark.sql.codegen.wholeStage": "false",  # to compile takes longer than to run
    }
    builder = sql.SparkSession.builder.master("local[2]").appName("opdt")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
