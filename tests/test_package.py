from __future__ import annotations

import importlib.metadata
import importlib.resources
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import opdt

ROOT = Path(__file__).resolve().parents[1]


def test_every_name_in_all_can_be_imported():
    missing = [name for name in opdt.__all__ if not hasattr(opdt, name)]
    assert not missing
    assert len(set(opdt.__all__)) == len(opdt.__all__)


def test_every_public_name_is_in_all():
    defined = {name for name, value in vars(opdt).items() if not isinstance(value, ModuleType)}
    public = {name for name in defined if not name.startswith("_")}
    assert public - {"annotations"} <= set(opdt.__all__)  # the one that __future__ leaves behind


def test_the_package_says_that_it_is_typed():
    assert importlib.resources.files("opdt").joinpath("py.typed").is_file()


def test_the_version_is_the_same_everywhere():
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    assert opdt.__version__ == importlib.metadata.version("opdt")
    assert recipe["context"]["version"] == opdt.__version__


def test_the_recipe_for_conda_needs_what_the_package_needs():
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    python, *others = recipe["requirements"]["run"]
    assert python == "python >=${{ python_min }}"
    assert project["requires-python"] == f">={recipe['context']['python_min']}"
    assert [text.replace(" ", "") for text in others] == project["dependencies"]


@pytest.fixture(scope="module")
def loaded_by_import() -> set[str]:
    """Top-level packages in memory after `import opdt` in a new interpreter."""
    code = "import opdt, sys; print(*{name.partition('.')[0] for name in sys.modules})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize("package", ["matplotlib", "numba", "pandas", "polars", "pyarrow"])
def test_importing_opdt_does_not_load(package, loaded_by_import):
    assert "opdt" in loaded_by_import
    assert package not in loaded_by_import


def test_the_page_of_the_api_lists_every_public_name():
    """By the place where it is defined, and nothing that is not public."""
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^::: (opdt\S*)$", page.partition("## Tables larger")[0], re.MULTILINE)
    modules = {"baselines", "datasets", "plot", "__version__"}
    public = {getattr(opdt, name) for name in opdt.__all__ if name not in modules}
    assert sorted(listed) == sorted(f"{each.__module__}.{each.__qualname__}" for each in public)
