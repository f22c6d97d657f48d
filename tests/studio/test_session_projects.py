"""Projects and files that a session opens."""

from __future__ import annotations

from pathlib import Path

import pytest

from opdt.studio.session import Session
from opdt.studio.work import Work
from studio.sessions import Listener, begun, on_loop, stored

pytestmark = pytest.mark.usefixtures("nothing_unexpected")


def test_a_project_of_a_dataset_is_opened_again() -> None:
    async def scene() -> None:
        one = Session()
        assert await one.load_dataset("irises")
        one.change(w=4.0, max_depth=1)
        await one.settled()
        one.pin(note="kept")
        project = await one.take("project")
        two = Session()
        assert await two.open_project(project.content)
        await two.settled()
        assert two.work == one.work
        assert str(two.outcome.rule) == str(one.outcome.rule)
        assert two.pins[0].note == "kept"
        for each in (one, two):
            each.close()

    on_loop(scene)


def test_a_project_of_a_file_waits_for_that_file(table: Path, tmp_path: Path) -> None:
    async def scene() -> None:
        one, _ = await begun(table, w=4.0)
        content = one.work.to_json()
        two = Session()
        listener = Listener(two)
        assert not await two.open_project(content)
        assert two.waiting.source.name == table.name
        assert not await two.load_file(stored(tmp_path, 7), "other.csv")
        assert "'other.csv' is not the file that is wanted" in listener.of("error")[-1]
        assert two.waiting is not None
        assert two.loaded is None
        assert await two.load_file(table, "renamed.csv")
        assert two.waiting is None
        assert two.work.w == 4
        assert two.work.source.name == "renamed.csv"
        two.change(w=5.0)
        assert await two.open_project(content)  # the file is there already
        assert two.work.w == 4
        for each in (one, two):
            each.close()

    on_loop(scene)


def test_a_project_that_does_not_fit_its_data_is_refused(table: Path) -> None:
    async def scene() -> None:
        one, listener = await begun(table)
        before = one.work
        for work in (
            before.change(roles={"pulse2": "ignored"}),
            Work(source=before.source, target="drug", label="z"),
        ):
            assert not await one.open_project(work.to_json())
        assert not await one.open_project("{}")
        assert not await one.open_project(Work().to_json())
        assert len(listener.of("error")) == 4
        assert one.work == before
        one.close()

    on_loop(scene)


def test_a_file_that_cannot_be_read_leaves_the_workbench_as_it_is(
    table: Path, tmp_path: Path
) -> None:
    async def scene() -> None:
        one, listener = await begun(table)
        (tmp_path / "bad.csv").write_bytes(b"\0\1\2")
        assert not await one.load_file(tmp_path / "bad.csv")
        assert "no text table" in listener.of("error")[-1]
        assert not await one.load_file(table, target="age9")
        assert one.outcome is not None
        assert one.loaded.source.name == table.name
        one.close()

    on_loop(scene)


def test_a_file_without_a_label_waits_for_one(table: Path) -> None:
    async def scene() -> None:
        one = Session()
        listener = Listener(one)
        assert await one.load_file(table)
        one.ask_real()
        await one.settled()
        assert one.outcome is None
        assert listener.of("error") == ["Choose the column of the classes first."]
        one.change(target="state")
        await one.settled()
        assert one.outcome is not None
        one.change(target=None)
        assert one.outcome is None
        one.close()

    on_loop(scene)
