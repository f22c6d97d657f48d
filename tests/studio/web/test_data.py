"""Tables of all roles on the page, hostile ones above all, in a real browser."""

from __future__ import annotations

import gzip
import random

import pytest
from selenium.webdriver import ActionChains, Keys

from browser import choose, click, element, text_of, wait_for
from opdt.studio.web.uploads import shown_name
from studio_server import running

LIMIT_MB = 3
ATTACK = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("data"), "--upload-limit", str(LIMIT_MB)) as server:
        yield server


def send(page, path) -> None:
    """Choose a file for the upload."""
    page.find_element("css selector", "[data-testid=upload-input]").send_keys(str(path))


def summary(page, name: str) -> str:
    return wait_for(lambda: name in (text := text_of(page, "data-summary")) and text)


def said(page, word: str) -> str:
    """The sentence of the banner, once it has this word."""
    return wait_for(lambda: word in (text := element(page, "error").text) and text)


def patients(n_rows: int = 60, seed: int = 1) -> list[tuple[float, str, str]]:
    """Rows in which the rule is: a value of at least 5 is ill."""
    draw = random.Random(seed)
    values = [round(draw.uniform(0, 10), 1) for _ in range(n_rows)]
    return [(v, draw.choice("ab"), "ill" if v >= 5 else "well") for v in values]


# -- usual tables ----------------------------------------------------------------------------------


def test_a_table_is_shown_and_its_columns_can_be_read_otherwise(page, tmp_path):
    rows = "\n".join(f"{v},{g},{y}" for v, g, y in patients())
    (tmp_path / "patients.csv").write_text(f"marker,ward,outcome\n{rows}\n,,ill\n")
    send(page, tmp_path / "patients.csv")
    shown = summary(page, "patients.csv")
    assert "61 rows" in shown
    assert "3 columns" in shown
    assert "2 of 183 cells missing" in shown
    choose(page, "target", "outcome")
    wait_for(lambda: "marker" in text_of(page, "sentence"))
    assert "ill" in text_of(page, "balance")
    roles = page.find_elements("css selector", "[data-testid=kind]")
    chosen = "return arguments[0].selectedOptions[0].textContent"
    assert [page.execute_script(chosen, each) for each in roles] == ["numeric", "categorical"]
    choose(page, "kind", "ignored")
    focused = "return document.activeElement.dataset.testid"
    assert page.execute_script(focused) == "kind"  # who chooses by keys stays where they are
    wait_for(lambda: "marker" not in text_of(page, "sentence"))
    click(page, "undo")
    wait_for(lambda: "marker" in text_of(page, "sentence"))
    keys = ActionChains(page).key_down(Keys.CONTROL).key_down(Keys.SHIFT).send_keys("z")
    keys.key_up(Keys.SHIFT).key_up(Keys.CONTROL).perform()
    wait_for(lambda: "marker" not in text_of(page, "sentence"))
    click(page, "data-rows")
    wait_for(lambda: page.find_elements("css selector", "table[aria-label='First rows']"))
    cells = page.find_elements("css selector", "[data-testid=data-panel] tbody td")
    assert cells[0].text == f"{patients()[0][0]:g}"


def test_the_class_and_the_held_out_share_can_be_chosen(page):
    choose(page, "dataset", "Breast tumours")
    summary(page, "tumours")
    wait_for(lambda: text_of(page, "sentence"))
    names = [each.text for each in page.find_elements("css selector", "[data-testid=label] option")]
    assert names[0] == "best over all classes"
    choose(page, "label", names[1])
    wait_for(lambda: names[1] in text_of(page, "sentence"))
    element(page, "report-held-out")
    choose(page, "held-out", "none")
    wait_for(lambda: not page.find_elements("css selector", "[data-testid=report-held-out]"))


def test_parquet_is_read(page, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    values, wards, outcomes = zip(*patients(), strict=True)
    table = pyarrow.table({"value": values, "ward": wards, "outcome": outcomes})
    parquet.write_table(table, tmp_path / "patients.parquet")
    send(page, tmp_path / "patients.parquet")
    assert "60 rows" in summary(page, "patients.parquet")


def test_a_reload_keeps_the_work_and_another_tab_does_not_see_it(page, server, tmp_path):
    rows = "\n".join(f"{v},{g},{y}" for v, g, y in patients())
    (tmp_path / "mine.csv").write_text(f"marker,ward,outcome\n{rows}\n")
    send(page, tmp_path / "mine.csv")
    summary(page, "mine.csv")
    choose(page, "target", "outcome")
    before = wait_for(lambda: text_of(page, "sentence"))
    page.refresh()
    summary(page, "mine.csv")
    assert wait_for(lambda: text_of(page, "sentence")) == before
    page.switch_to.new_window("tab")
    page.get(server.url)
    element(page, "upload")
    assert text_of(page, "data-summary") == ""
    assert "mine.csv" not in page.page_source


def test_a_file_can_be_dropped_anywhere(page):
    script = """
        const rows = Array.from({length: 40}, (_, k) => `${k},${k < 20 ? "a" : "b"}`);
        const file = new File([["number,class", ...rows].join("\\n")], "dropped.csv");
        const transfer = new DataTransfer();
        transfer.items.add(file);
        const where = document.querySelector("[data-testid=rule-panel]");
        for (const what of ["dragover", "drop"])
            where.dispatchEvent(new DragEvent(what, {dataTransfer: transfer, bubbles: true}));
    """
    page.execute_script(script)
    assert "40 rows" in summary(page, "dropped.csv")


def test_light_and_dark_are_remembered(page):
    """A browser that asks for light shows it; the button turns to dark, and a reload keeps that."""
    style = "return getComputedStyle(document.body).backgroundColor"
    before = page.execute_script(style)
    click(page, "dark")
    after = wait_for(lambda: (now := page.execute_script(style)) != before and now)
    page.refresh()
    wait_for(lambda: page.execute_script(style) == after)
    for _ in range(2):
        click(page, "dark")
    wait_for(lambda: page.execute_script(style) == before)


def test_every_role_is_offered_where_it_fits_with_its_reason(page, tmp_path):
    """Keys and dates are found, a part of the date can be taken, and levels be put in order."""
    sizes = ("small", "large", "middle")
    rows = "\n".join(
        f"C-{k:04d},2024-{1 + k % 12:02d}-05,{sizes[k % 3]},{9999 if k % 10 == 0 else v},{y}"
        for k, (v, _, y) in enumerate(patients())
    )
    (tmp_path / "claims.csv").write_text(f"claim_id,paid on,size,value,outcome\n{rows}\n")
    send(page, tmp_path / "claims.csv")
    summary(page, "claims.csv")
    choose(page, "target", "outcome")
    wait_for(lambda: "value" in text_of(page, "sentence"))
    lists = "return Array.from(document.querySelectorAll('[data-testid=kind]'), "
    chosen = lists + "(each) => each.selectedOptions[0].textContent)"
    assert page.execute_script(chosen) == ["id (not used)", "date", "categorical", "numeric"]
    offered = lists + "(each) => Array.from(each.options, (o) => o.textContent))"
    of_key, of_date, of_size, of_value = page.execute_script(offered)
    assert {"categorical", "free text (not used)", "ignored"} < set(of_key)
    assert {"date: month", "date: weekday"} < set(of_date)
    assert "ordered" in of_size
    assert not any("date" in each or "ordered" in each for each in of_value)
    assert "all 60 values differ" in text_of(page, "why")
    pick = """
        const list = document.querySelectorAll("[data-testid=kind]")[arguments[0]];
        list.value = Array.from(list.options).find((o) => o.textContent === arguments[1]).value;
        list.dispatchEvent(new Event("change", {bubbles: true}));
    """
    page.execute_script(pick, 1, "date: month")
    wait_for(lambda: "12 values" in text_of(page, "data-panel"))
    page.execute_script(pick, 2, "ordered")
    order = element(page, "order")
    assert order.get_property("value") == "large<middle<small"
    order.send_keys(Keys.CONTROL, "a")
    order.send_keys("small<middle\n")
    assert "'large' is missing" in said(page, "size")
    field = element(page, "missing-values")
    field.send_keys("9999\n")
    wait_for(lambda: "6 missing" in text_of(page, "data-panel"))


# -- hostile tables --------------------------------------------------------------------------------


def test_names_and_values_are_only_ever_text(page, tmp_path):
    name = f"{ATTACK} 'quoted' `{{{{1+1}}}}` ${{1}} :onclick=alert(1)"
    level = name + ' "twice"'
    quoted = '"' + level.replace('"', '""') + '"'
    rows = "\n".join(f"{v},{quoted if y == 'ill' else 'well'}" for v, _, y in patients())
    (tmp_path / "hostile.csv").write_text(f'"{name}","{name} class"\n{rows}\n')
    send(page, tmp_path / "hostile.csv")
    summary(page, "hostile.csv")
    choose(page, "target", f"{name} class")
    choose(page, "label", level)
    wait_for(lambda: level in text_of(page, "sentence"))
    for testid in ("data-panel", "balance", "sentence"):
        assert name in text_of(page, testid)
    assert level in text_of(page, "balance")
    click(page, "data-rows")
    wait_for(lambda: name in text_of(page, "data-panel"))
    page.refresh()
    wait_for(lambda: name in text_of(page, "sentence"))
    assert page.execute_script("return document.querySelectorAll('main img').length") == 0


@pytest.mark.slow
def test_two_thousand_columns_stay_usable(page, tmp_path):
    draw = random.Random(2)
    head = ",".join([*(f"gene {k}" for k in range(1999)), "outcome"])
    rows = []
    for value, _, outcome in patients(40):
        cells = [str(draw.randrange(10)) for _ in range(1998)]
        rows.append(",".join([*cells, str(value), outcome]))
    (tmp_path / "wide.csv").write_text("\n".join([head, *rows]))
    send(page, tmp_path / "wide.csv")
    assert "2,000 columns" in summary(page, "wide.csv")
    assert len(page.find_elements("css selector", "[data-testid=column]")) <= 20
    click(page, "next-columns")
    wait_for(lambda: "9 to 16 of 2,000" in text_of(page, "column-range"))
    element(page, "find-column").send_keys("gene 1998\n")
    wait_for(lambda: "gene 1998" in text_of(page, "column"))
    choose(page, "target", "outcome")
    wait_for(lambda: "gene" in text_of(page, "sentence"))


def test_a_column_of_one_class_is_refused_in_one_sentence(page, tmp_path):
    (tmp_path / "one.csv").write_text("value,outcome\n" + "1,ill\n2,ill\n3,ill\n")
    send(page, tmp_path / "one.csv")
    summary(page, "one.csv")
    choose(page, "target", "outcome")
    assert "only one class" in said(page, "outcome")
    assert text_of(page, "sentence") == ""
    shown = "return document.querySelector('[data-testid=target]').selectedOptions[0].text"
    wait_for(lambda: page.execute_script(shown) == "choose …")


def test_what_is_no_table_is_refused_in_one_sentence(page, tmp_path):
    garbage = random.Random(3).randbytes(5000)
    hashes = b"value#outcome\n1#ill\n2#well\n"  # one column, as far as anyone can tell
    files = {
        "garbage.csv": (garbage, "garbage.csv"),
        "garbage.parquet": (garbage, "garbage.parquet"),
        "garbage.csv.gz": (b"\x1f\x8b" + garbage, "garbage.csv.gz"),
        "garbage.exe": (garbage, "send .csv"),
        "empty.csv": (b"", "empty"),
        "hashes.csv": (hashes, "separated"),
        "twice.csv": (b"a,a\n1,2\n", "duplicate"),
    }
    for name, (content, cause) in files.items():
        (tmp_path / name).write_bytes(content)
        send(page, tmp_path / name)
        sentence = said(page, name)
        assert cause in sentence
        assert "Traceback" not in sentence
        assert str(tmp_path) not in sentence
        assert "opdt-studio-" not in sentence
        assert text_of(page, "data-summary") == ""


def test_semicolons_and_decimal_commas_are_understood(page, tmp_path):
    rows = "\n".join(f"{v:.1f}".replace(".", ",") + f";{g};{y}" for v, g, y in patients())
    (tmp_path / "excel.csv").write_text(f"Wert;Station;Befund\n{rows}\n", encoding="cp1252")
    send(page, tmp_path / "excel.csv")
    assert "3 columns" in summary(page, "excel.csv")
    chosen = "return document.querySelector('[data-testid=kind]').selectedOptions[0].textContent"
    assert page.execute_script(chosen) == "numeric"
    choose(page, "target", "Befund")
    wait_for(lambda: "Wert" in text_of(page, "sentence"))


def test_a_file_over_the_limit_is_refused_and_the_page_goes_on(page, tmp_path):
    (tmp_path / "large.csv").write_bytes(b"x" * (LIMIT_MB * 1_000_000 + 1))
    send(page, tmp_path / "large.csv")
    sentence = said(page, "large.csv")
    assert f"{LIMIT_MB} MB" in sentence
    assert "--upload-limit" in sentence
    (tmp_path / "small.csv").write_text("a,b\n" + "1,x\n2,y\n" * 10)
    send(page, tmp_path / "small.csv")
    summary(page, "small.csv")


def test_a_packed_file_is_counted_unpacked(page, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,x\n" * 2_000_000, 1))
    table = pyarrow.table({"a": [1] * 2_000_000, "b": [2] * 2_000_000})
    parquet.write_table(table, tmp_path / "bomb.parquet")
    for path in (tmp_path / "bomb.csv.gz", tmp_path / "bomb.parquet"):
        assert path.stat().st_size < 1_000_000
        send(page, path)
        assert f"{LIMIT_MB} MB" in said(page, path.name)


def test_nothing_of_an_upload_is_left_on_the_disk(page, server, tmp_path):
    (tmp_path / "gone.csv").write_text("a,b\n" + "1,x\n2,y\n" * 10)
    send(page, tmp_path / "gone.csv")
    summary(page, "gone.csv")
    wait_for(lambda: [each for each in server.folder.rglob("*") if each.is_file()] == [] or None)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("../../etc/passwd.csv", "passwd.csv"),
        ("C:\\temp\\a.csv", "a.csv"),
        ("a\u202ecsv.exe", "acsv.exe"),
        ("\x00\n", "file"),
        ("x" * 500 + ".csv", "x" * 60 + "…" + "x" * 56 + ".csv"),
    ],
)
def test_a_file_name_is_only_its_last_part(given, shown):
    assert shown_name(given) == shown


# -- several people --------------------------------------------------------------------------------


def test_a_heavy_search_in_one_tab_does_not_hold_up_another(page, server):
    """One searches deep; the other opens data, gets a rule, and sees nothing of the first."""
    choose(page, "dataset", "Breast tumours")
    wait_for(lambda: text_of(page, "sentence"))
    for depth in ("4", "5", "6"):  # one more is offered with each
        choose(page, "depth", depth)
    element(page, "stop")
    heavy = page.current_window_handle
    page.switch_to.new_window("tab")
    page.get(server.url)
    choose(page, "dataset", "Irises")
    wait_for(lambda: "proven optimal" in text_of(page, "badge"))
    assert "malignant" not in page.page_source  # a class of the other
    page.close()
    page.switch_to.window(heavy)
    assert text_of(page, "search-words")  # still at it
    click(page, "stop")
    wait_for(lambda: not text_of(page, "search-words"))
