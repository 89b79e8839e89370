"""The report: complete, self-contained, and readable in a browser in both colour schemes and on a phone."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maestro.content import shipped_root
from maestro.errors import RecordError
from maestro.evaluation.episode import Ending, EpisodeFile, EpisodeRecord
from maestro.evaluation.games import Setup
from maestro.evaluation.play import play_here
from maestro.evaluation.report import MAX_TIMELINES, TaskResult, render_report
from maestro.evaluation.summary import summarise
from maestro.specs import Published, TaskSpec

GIVEN = Setup("locked_door", "random", 0, 4, (shipped_root(),))
FILES = {one.record.episode: one.file for one in play_here(GIVEN, range(8)) if one.file is not None}
SPEC = GIVEN.task().spec.model_copy(
    update={"published": Published(value=7.2, stderr=0.5, unit="percent", source="a <paper>")}
)
VOID = {"meta", "link", "br", "img", "hr", "input", "rect", "line"}


def result(
    records: list[EpisodeRecord], spec: TaskSpec = SPEC, requested: int = 8, **changes: Any
) -> TaskResult:
    figures = summarise(spec, records, policy="random", seed=0, requested=requested) | changes

    def read_file(number: int) -> EpisodeFile:
        if number not in FILES:
            raise RecordError("gone")
        return FILES[number]

    return TaskResult(figures, records, read_file)


RECORDS = [file.record for file in FILES.values()]
REPORT = render_report([result(RECORDS)], {"run": "runs/x", "versions": "maestro 0"})


class Balance(HTMLParser):
    """Checks that every element is closed where it should be, and collects what a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loads += [value or "" for name, value in attrs if name in ("src", "href", "data")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag, f"</{tag}> at {self.getpos()}"


def parsed(page: str) -> Balance:
    parser = Balance()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


def test_the_page_is_well_formed_and_loads_nothing():
    assert parsed(REPORT).loads == []
    assert not re.search(r"https?://|@import|url\(", REPORT)


def test_both_colour_schemes_and_narrow_screens_are_provided_for():
    assert "prefers-color-scheme: dark" in REPORT
    assert "max-width: 520px" in REPORT
    assert 'name="viewport"' in REPORT
    used = set(re.findall(r"var\(--(\w+)\)", REPORT))
    schemes = re.findall(r":root \{(.*?)\}", REPORT, re.DOTALL)
    assert len(schemes) == 2
    for scheme in schemes:
        assert used <= set(re.findall(r"--(\w+):", scheme))


def test_success_is_shown_beside_the_published_row():
    assert "7.2 % (6.2 to 8.2)" in REPORT
    assert "what the task says" in REPORT
    assert "as scored by MaestroMotif" in REPORT


def test_text_from_outside_is_escaped():
    assert "a &lt;paper&gt;" in REPORT
    cause = "policy.py:3: <script>boom</script>"
    record = RECORDS[0].model_copy(update={"ended": Ending(by="error", cause=cause)})
    page = render_report([result([record])], {"x": "<b>"})
    parsed(page)
    assert "<script>boom" not in page
    assert "&lt;script&gt;boom" in page
    assert "<b>" not in page


def test_every_episode_has_its_timeline():
    assert REPORT.count('class="episode"') == 8
    assert "keyfinder: steps 0 to" in REPORT


def test_many_episodes_are_cut_and_it_is_said():
    records = [RECORDS[0].model_copy(update={"episode": number}) for number in range(MAX_TIMELINES + 5)]
    page = render_report([result(records, requested=len(records))], {})
    parsed(page)
    assert page.count('class="episode"') == MAX_TIMELINES
    assert "5 more episodes" in page


def test_what_is_not_whole_is_said():
    failed = EpisodeRecord(
        episode=9, seeds=RECORDS[0].seeds, success={"true": None, "compatible": None},
        ended=Ending(by="failed", cause="its worker process died"),
    )  # fmt: skip
    page = render_report([result([*RECORDS, failed], requested=20)], {})
    parsed(page)
    assert "Interrupted: 9 of 20 episodes" in page
    assert "1 episodes were given up" in page


def test_a_report_without_any_result_is_a_report():
    failed = EpisodeRecord(
        episode=0,
        seeds=RECORDS[0].seeds,
        success={"true": None, "compatible": None},
        ended=Ending(by="failed"),
    )
    parsed(render_report([result([failed])], {}))
    parsed(render_report([result([])], {}))


def test_several_tasks_have_an_overview_that_leads_to_them():
    other = SPEC.model_copy(update={"name": "delphi", "published": None})
    page = render_report([result(RECORDS), result(RECORDS, other)], {})
    assert parsed(page).loads == ["#locked_door", "#delphi"]
    assert 'id="delphi"' in page


def test_a_count_is_shown_as_a_count():
    spec = SPEC.model_copy(
        update={"kind": "count", "published": Published(value=1.6, stderr=0.01, unit="count", source="x")}
    )
    assert "1.60 (1.58 to 1.62)" in render_report([result(RECORDS, spec)], {})


def chromium(page: Path, picture: Path, *flags: str) -> np.ndarray:
    """Take a screenshot and give its pixels."""
    from PIL import Image

    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert program, "this test needs chromium: apt-get install chromium"
    subprocess.run(
        [
            program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
            f"--user-data-dir={picture.with_suffix('.profile')}", f"--screenshot={picture}", *flags, page.as_uri(),
        ],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    return np.asarray(Image.open(picture).convert("RGB")).astype(int)


@pytest.mark.browser
def test_a_browser_draws_it_light_and_dark_and_on_a_phone(tmp_path: Path):
    page = tmp_path / "report.html"
    page.write_text(REPORT, encoding="utf-8")
    light = chromium(page, tmp_path / "light.png", "--window-size=1200,2400")
    dark = chromium(
        page, tmp_path / "dark.png", "--window-size=1200,2400", "--blink-settings=preferredColorScheme=0"
    )
    phone = chromium(page, tmp_path / "phone.png", "--window-size=500,3600")
    assert light[0, 0].min() > 240
    assert dark[0, 0].max() < 40
    for picture in (light, dark, phone):
        # The colours of the first skill and of the published row are really there.
        assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 20
    for picture, (own, other) in (
        (light, ((68, 119, 170), (176, 117, 20))),
        (dark, ((122, 169, 221), (224, 171, 82))),
    ):
        for color in (own, other):
            assert (np.abs(picture - np.array(color)).max(axis=2) <= 2).sum() > 50
    margin = phone[:, -6:, :]
    assert (np.abs(margin - phone[0, 0]).max(axis=2) <= 2).all(), "the page is wider than a phone"
