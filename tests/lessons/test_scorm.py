"""Packages of SCORM 1.2: the manifest, as ADL's schema has it, and the page in a platform that checks all calls.

The tests in a browser need what test_browser.py does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from xml.etree import ElementTree as ET
from zipfile import ZipFile

import pytest

from simcodesign import cli
from simcodesign.lessons.courses.scorm import ADLCP, CP, manifest
from simcodesign.lessons.grading.questions import of_case
from simcodesign.lessons.grading.seeding import place_of
from simcodesign.lessons.packing import block_in, unpack
from tests.lessons.small import seeded_lesson
from tests.lessons.test_browser import browser  # noqa: F401
from tests.lessons.test_browser import pytestmark as needs_browser

#: Elements of imscp_rootv1p1p2.xsd that the manifest has, with the children that must be there, in their order.
CHILDREN = {
    "manifest": ["metadata", "organizations", "resources"],
    "metadata": ["schema", "schemaversion"],
    "organizations": ["organization"],
    "organization": ["title", "item"],
    "item": ["title"],
    "resources": ["resource"],
    "resource": ["file"],
}
#: A platform: the API of SCORM 1.2, which refuses what its data model does not allow, in the frame around the page.
PLATFORM = """<!doctype html><title>Platform</title><script>
const types = {
  "cmi.core.score.raw": /^(\\d{1,2}(\\.\\d+)?|100(\\.0+)?)$/, "cmi.core.score.min": /^\\d{1,3}$/, "cmi.core.score.max": /^\\d{1,3}$/,
  "cmi.core.lesson_status": /^(passed|completed|failed|incomplete|browsed)$/, "cmi.core.exit": /^(time-out|suspend|logout|)$/,
  "cmi.core.session_time": /^\\d{2,4}:[0-5]\\d:[0-5]\\d(\\.\\d{1,2})?$/, "cmi.suspend_data": /^[^]{0,4096}$/,
};
const kept = JSON.parse(sessionStorage.getItem("kept") || "{}");
window.platform = { kept, problems: [], calls: [], state: "new" };
const values = { "cmi.core.student_id": STUDENT, "cmi.core.lesson_status": "not attempted", ...kept };
const running = (name) => { platform.calls.push(name); if (platform.state !== "running") platform.problems.push(`${name} while ${platform.state}`); };
window.API = {
  LMSInitialize(one) { if (one !== "" || platform.state !== "new") platform.problems.push("LMSInitialize"); platform.state = "running"; return "true"; },
  LMSGetValue(name) { running("LMSGetValue"); return values[name] ?? ""; },
  LMSSetValue(name, value) {
    running("LMSSetValue");
    if (typeof value !== "string" || !types[name]?.test(value)) { platform.problems.push(`${name} = ${value}`); return "false"; }
    values[name] = kept[name] = value;
    return "true";
  },
  LMSCommit(one) { running("LMSCommit"); sessionStorage.setItem("kept", JSON.stringify(kept)); return "true"; },
  LMSFinish(one) { running("LMSFinish"); platform.state = "finished"; sessionStorage.setItem("kept", JSON.stringify(kept)); sessionStorage.setItem("problems", JSON.stringify(platform.problems)); return "true"; },
  LMSGetLastError() { return "0"; }, LMSGetErrorString() { return ""; }, LMSGetDiagnostic() { return ""; },
};
</script><iframe src="index.html" width="1200" height="800"></iframe>
"""


def test_the_manifest_has_the_structure_of_its_schema() -> None:
    root = ET.fromstring(ET.tostring(manifest("2 fast & <slow>", "Broadcasts & <meshes>")))
    for element in root.iter():
        space, _, tag = element.tag[1:].partition("}")
        assert space == CP
        assert [child.tag.rpartition("}")[2] for child in element] == CHILDREN.get(tag, [])
    assert [one.text for one in root.find(f"{{{CP}}}metadata")] == ["ADL SCORM", "1.2"]  # type: ignore[union-attr]
    (organizations,), (organization,) = root.iter(f"{{{CP}}}organizations"), root.iter(f"{{{CP}}}organization")
    (item,), (resource,) = root.iter(f"{{{CP}}}item"), root.iter(f"{{{CP}}}resource")
    assert organizations.get("default") == organization.get("identifier")
    assert item.get("identifierref") == resource.get("identifier")
    assert (resource.get("type"), resource.get(f"{{{ADLCP}}}scormtype")) == ("webcontent", "sco")
    assert resource.get("href") == resource[0].get("href") == "index.html"
    identifiers = [one.get("identifier", "") for one in root.iter() if one.get("identifier")]
    assert len(set(identifiers)) == len(identifiers)
    assert all(re.fullmatch(r"[A-Za-z_][\w.-]*", one) for one in identifiers)  # xs:ID
    assert organization.findtext(f"{{{CP}}}title") == "Broadcasts & <meshes>"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of an unpacked package."""
    folder = tmp_path_factory.mktemp("scorm")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        lesson, path = seeded_lesson(folder / "small"), folder / "small.zip"
        assert cli.main(["lesson", "build", str(lesson), "--write", f"scorm:{path}", "-j", "1"]) == 0
        with ZipFile(path) as found:
            assert found.namelist() == ["imsmanifest.xml", "index.html"]
            found.extractall(folder / "package")
        yield folder / "package"


def test_the_page_of_a_package(package: Path) -> None:
    page = (package / "index.html").read_text(encoding="utf-8")
    assert '<body data-needs-code="" data-scorm="">' in page
    assert "<lesson-teacher>" not in page


def test_an_exam_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for options in (["--exam"], ["--variants", "2"]):
        path = tmp_path / "a.zip"
        assert cli.main(["lesson", "build", "ping-pong", *options, "--write", f"scorm:{path}"]) == 2
        assert not path.exists()
    assert "an exam has no score to report" in capfd.readouterr().err


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a word."""

    def log_message(self, *words: Any) -> None:
        """Print nothing."""


@pytest.fixture
def platform(package: Path) -> Iterator[str]:
    """The address of a platform: frames of files may not see one another."""
    (package / "platform.html").write_text(PLATFORM.replace("STUDENT", '"Ann.Lee@example"'), encoding="utf-8")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(package))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def lesson_in(page: Any) -> Any:
    frame = next(one for one in page.frames if one.url.endswith("index.html"))
    frame.wait_for_selector("body.is-ready")
    return frame


def kept_by(page: Any) -> dict[str, str]:
    page.wait_for_timeout(200)
    assert page.evaluate("platform.problems") == []
    found: dict[str, str] = page.evaluate("platform.kept")
    return found


@pytest.mark.thorough
@needs_browser[1]
def test_score_status_and_answers_reach_the_platform(package: Path, platform: str, browser: Any) -> None:  # noqa: F811
    errors: list[str] = []
    page = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce").new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{platform}/platform.html")
    page.wait_for_selector("iframe")
    frame = lesson_in(page)
    header = unpack(block_in((package / "index.html").read_text(encoding="utf-8")))[0]
    case = place_of("small", "ann.lee-example", len(header["seeded"]["combinations"]))
    number, choice, sketch, factor = (of_case(one, case) for one in header["steps"][0]["questions"])
    state = "document.querySelector('lesson-export').state"
    assert frame.evaluate(f"{state}.code") == "ann.lee-example"
    assert kept_by(page) == {"cmi.core.lesson_status": "incomplete"}

    def answer(place: int, value: str) -> None:
        asked = frame.locator(f'.questions [data-question="{place}"]')
        asked.locator("input").fill(value)
        asked.locator("button[type=submit]").click()

    answer(0, f"{number['answer']:.10g}")
    kept = kept_by(page)
    # 1 of 7 points.
    assert (kept["cmi.core.score.raw"], kept["cmi.core.score.max"]) == ("14.29", "100")
    answer(3, f"{factor['answer'] * 2:.10g}")
    right = next(each["html"] for each in choice["choices"] if each["right"])
    frame.locator(f"[data-question='1'] button:text-is('{right}')").click()
    frame.locator("lesson-drawing").scroll_into_view_if_needed()
    frame.locator("lesson-drawing circle.handle").first.wait_for()
    frame.evaluate(
        "(values) => { const one = document.querySelector('lesson-drawing');"
        " for (const [stop, value] of Object.entries(values)) one.put(Number(stop), value); }",
        {str(stop): value for stop, value in zip(sketch["open"], sketch["truth"], strict=True)},
    )
    assert kept_by(page)["cmi.core.lesson_status"] == "incomplete"
    frame.locator("lesson-drawing button[type=submit]").click()
    kept = kept_by(page)
    # All but the two points of the factor.
    assert (kept["cmi.core.score.raw"], kept["cmi.core.lesson_status"]) == ("71.43", "completed")
    assert set(json.loads(kept["cmi.suspend_data"])) == {"number", "choice", "factor", "sketch"}
    # The platform, not the browser, brings the answers back.
    frame.evaluate("localStorage.clear()")
    page.reload()
    assert json.loads(page.evaluate("sessionStorage.getItem('problems')")) == []
    frame = lesson_in(page)
    kept = kept_by(page)
    assert kept["cmi.core.exit"] == "suspend"
    assert kept["cmi.core.session_time"].startswith("0000:0")
    assert (kept["cmi.core.score.raw"], kept["cmi.core.lesson_status"]) == ("71.43", "completed")
    assert frame.evaluate(f"Object.keys({state}.answers).length") == 4
    assert "is-right" in frame.locator("[data-question='0'] .feedback").get_attribute("class")
    frame.locator("lesson-summary").scroll_into_view_if_needed()
    frame.locator("lesson-summary .total b").wait_for(timeout=5000)
    assert "platform receives the score" in frame.locator("lesson-summary .note").inner_text()
    assert "sent nowhere" not in frame.locator("footer").inner_text()
    assert errors == []
    page.context.close()


@pytest.mark.thorough
@needs_browser[1]
def test_without_a_platform_the_page_is_a_lesson(package: Path, browser: Any) -> None:  # noqa: F811
    page = browser.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((package / "index.html").as_uri())
    page.locator(".code-form input").fill("s001")
    page.locator(".code-form button").click()
    page.wait_for_selector("body.is-ready")
    page.locator("[data-question='0'] input").fill("7")
    page.locator("[data-question='0'] button[type=submit]").click()
    assert page.evaluate("document.querySelector('lesson-export').state.answers.number.value") == 7
    assert errors == []
    page.close()
