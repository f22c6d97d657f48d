"""Objectives and limits in a real browser: chosen, refused beside the field, answered, undone."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.keys import Keys

import opdt
from browser import choose, click, element, text_of, wait_for
from opdt import Mean, Money, Parity, PerSegment, Survival
from opdt.report.text import rule_sentence
from opdt.studio.best_in import CHOICES
from opdt.studio.solver import Solver
from opdt.studio.tables import load_file
from opdt.studio.work import Work
from studio.test_best_in import AMOUNT, CLAIMS, STAY


class Claims:
    """The claims on the page, and what the library finds where the same is said of them."""

    def __init__(self, page, path):
        self.page = page
        self.path = path
        self.solver = Solver(load_file(path))
        self.work = Work(source=self.solver.loaded.source, target="fraud")

    def open(self):
        element(self.page, "upload")
        self.page.find_element("css selector", "[data-testid=upload-input]").send_keys(
            str(self.path)
        )
        wait_for(lambda: "claims.csv" in text_of(self.page, "data-summary"))
        choose(self.page, "target", "fraud")
        self.shows()
        return self

    def shows(self, **said):
        """Wait until the page shows the rule that `discover` finds once this is said, too."""
        self.work = self.work.change(**said)
        train = self.solver.split(self.work).train
        rule = opdt.discover(train.X, train.y, **self.work.arguments()).rule
        assert rule is not None
        expected = rule_sentence(rule, self.work.objective, self.work.target)
        wait_for(lambda: text_of(self.page, "sentence") == expected)
        wait_for(lambda: "proven optimal" in text_of(self.page, "badge"))
        return self.solver.solve(self.work)

    def best_in(self, choice):
        choose(self.page, "best-in", CHOICES[choice])

    def write(self, testid, text):
        box = element(self.page, testid)
        box.send_keys(Keys.CONTROL, "a")
        box.send_keys(text, Keys.ENTER)


@pytest.fixture
def claims(page, tmp_path):
    path = tmp_path / "claims.csv"
    CLAIMS.frame.to_csv(path, index=False)
    return Claims(page, path).open()


def is_shown(page, testid):
    found = page.find_elements("css selector", f"[data-testid={testid}]")
    return any(each.is_displayed() for each in found)


def test_money_from_the_choice_to_the_script(page, claims):
    claims.best_in("money")
    rarer = "yes" if (CLAIMS.frame["fraud"] == "yes").mean() < 0.5 else "no"
    claims.shows(objective=Money(), label=rarer)
    assert not is_shown(page, "price")  # w has no meaning here
    assert not is_shown(page, "frontier")
    choose(page, "benefit-column", AMOUNT)
    claims.shows(objective=Money(benefit=AMOUNT))
    claims.write("cost", "-5")
    assert "must not be negative" in wait_for(lambda: text_of(page, "error-cost"))
    claims.write("cost", "many")
    wait_for(lambda: "got 'many'" in text_of(page, "error-cost"))
    claims.write("cost", "40")
    claims.write("unit", "EUR")
    objective = Money(benefit=AMOUNT, cost=40, unit="EUR")
    outcome = claims.shows(objective=objective)
    for testid, part in (("report-train", outcome.seen), ("report-held-out", outcome.unseen)):
        wait_for(lambda testid=testid, part=part: part.worth.shown in text_of(page, testid))
    assert outcome.words.show(outcome.solution.value) in text_of(page, "proof")
    wait_for(lambda: is_shown(page, "choose-step"))
    assert "EUR" in text_of(page, "worth-step")
    click(page, "ask-alternatives")
    wait_for(lambda: "net benefit" in text_of(page, "alternatives-facts"))
    click(page, "show-script")
    wait_for(lambda: f"objective = {objective!r}" in text_of(page, "code"))
    element(page, "undo").click()
    claims.shows(objective=Money(benefit=AMOUNT, cost=40))


def test_numbers_and_times_need_no_classes(page, claims):
    claims.best_in("mean")
    wait_for(lambda: "column of the numbers" in text_of(page, "idle"))
    choose(page, "target", STAY)
    outcome = claims.shows(objective=Mean(), target=STAY)
    assert "3 rows without a value" in text_of(page, "left-out")
    assert outcome.seen.worth.shown in text_of(page, "report-train")
    assert not is_shown(page, "wrong")  # rows have no classes, so none is wrong
    assert not is_shown(page, "min-precision")
    assert "Give a threshold" in text_of(page, "unlisted")
    claims.write("threshold", "4")
    choose(page, "direction", "low")
    claims.shows(objective=Mean(threshold=4, direction="low"))
    claims.best_in("survival")
    choose(page, "time", "months")
    choose(page, "event", "died")
    assert "say by “It came where this is”" in wait_for(lambda: text_of(page, "error-event"))
    assert "There is no rule" in text_of(page, "idle")
    choose(page, "came", "yes")
    claims.shows(objective=Survival(time="months", event="died", came="yes"))
    wait_for(lambda: text_of(page, "error-event") == "")
    claims.best_in("vi")  # the target of before is there again
    claims.shows(objective="vi", target="fraud")


def test_a_measure_within_a_budget_that_is_fair_to_groups(page, claims):
    choose(page, "label", "yes")
    claims.best_in("f1")
    outcome = claims.shows(objective="f1", label="yes")
    assert outcome.seen.worth.shown in text_of(page, "report-train")
    assert "no such sum" in text_of(page, "unlisted")
    claims.write("max-coverage", "20")
    claims.shows(max_coverage=0.2)
    choose(page, "parities-column-0", "sex")
    claims.write("max-difference-0", "5")
    claims.shows(parities=(Parity("sex", max_difference=0.05),))
    choose(page, "segments-column-0", "region")
    claims.write("min-precision-0", "150")
    assert "from 0 to 1" in wait_for(lambda: text_of(page, "segment-error"))
    claims.write("min-precision-0", "60")
    outcome = claims.shows(segments=(PerSegment("region", min_precision=0.6),))
    assert len(outcome.seen.limits) == 3

    def told_of_limits():  # the panel is drawn after the answer has come
        limits = [each.text for each in page.find_elements("css selector", "[data-testid=limit]")]
        return limits if len(limits) == 3 else None

    for told, check in zip(wait_for(told_of_limits), outcome.seen.limits, strict=True):
        assert check.says in told
        assert f"met {check.numbers}" in told
    claims.write("min-coverage", "60")
    told = wait_for(lambda: text_of(page, "advice"))
    assert "Ask for less coverage than 60.0 % of the rows" in told
    assert "there is a rule" in told
    element(page, "undo").click()
    claims.shows()
    click(page, "remove-parities-0")
    claims.shows(parities=())


def test_a_project_brings_its_objective_and_limits_back(page, claims, tmp_path):
    work = claims.work.change(
        label="yes", objective=Money(benefit=AMOUNT, cost=25, unit="EUR"), max_coverage=30
    )
    saved = tmp_path / "claims.opdt.json"
    saved.write_text(work.to_json())
    field = page.find_element("css selector", "[data-testid=open-project-input]")
    field.send_keys(str(saved))
    claims.work = work
    claims.shows()
    assert element(page, "cost").get_property("value") == "25"
    assert element(page, "max-coverage").get_property("value") == "30"
    assert text_of(page, "limit-met") == "met"
