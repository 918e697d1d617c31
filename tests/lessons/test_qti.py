"""Packages of QTI 2.1: the structure of the schema, what a player does with an answer, and the numbers of the lesson."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET
from zipfile import ZipFile

import pytest

from simcodesign import cli
from simcodesign.core.errors import InputError
from simcodesign.lessons.contents import contents
from simcodesign.lessons.courses.bank import Bank, Variant, bank_of, read_bank
from simcodesign.lessons.courses.moodle import quiz_of
from simcodesign.lessons.courses.qti import CP, QTI, qti_files, write_qti
from simcodesign.lessons.courses.xhtml import MATHML, blocks
from simcodesign.lessons.folders import lesson_folder
from simcodesign.lessons.grading.marking import is_near
from simcodesign.lessons.lattice import Lattice, formula_times
from simcodesign.lessons.yaml.lesson import read_lesson
from simcodesign.lessons.yaml.translation import in_language
from tests.lessons.small import seeded_lesson
from tests.lessons.test_grading import numbers_without_simulating

#: Elements of the XML binding of QTI 2.1.1 (imsqti_v2p1p1.xsd) that items and tests use: attributes that are required
#: here, and children in their order; "*" any number, "?" at most one, "+" one or more, "|" one of several. An element
#: that is not listed has text alone. No package of PyPI, npm or Debian was found that contains the schema itself.
MODEL = {
    "assessmentItem": ("identifier title adaptive timeDependent", "responseDeclaration* outcomeDeclaration* itemBody? responseProcessing? modalFeedback*"),
    "responseDeclaration": ("identifier cardinality baseType", "correctResponse?"),
    "outcomeDeclaration": ("identifier cardinality baseType", "defaultValue?"),
    "correctResponse": ("", "value+"),
    "defaultValue": ("", "value+"),
    "responseProcessing": ("", "responseCondition|setOutcomeValue*"),
    "responseCondition": ("", "responseIf responseElseIf* responseElse?"),
    "responseIf": ("", "isNull|match setOutcomeValue*"),
    "responseElseIf": ("", "equal setOutcomeValue*"),
    "responseElse": ("", "setOutcomeValue*"),
    "isNull": ("", "variable"),
    "match": ("", "variable correct"),
    "equal": ("toleranceMode tolerance", "variable baseValue"),
    "setOutcomeValue": ("identifier", "baseValue|variable|sum"),
    "variable": ("identifier", ""),
    "correct": ("identifier", ""),
    "baseValue": ("baseType", ""),
    "choiceInteraction": ("responseIdentifier shuffle maxChoices", "simpleChoice+"),
    "textEntryInteraction": ("responseIdentifier", ""),
    "assessmentTest": ("identifier title", "outcomeDeclaration* testPart+ outcomeProcessing?"),
    "testPart": ("identifier navigationMode submissionMode", "assessmentSection+"),
    "assessmentSection": ("identifier title visible", "selection? assessmentItemRef*"),
    "selection": ("select", ""),
    "assessmentItemRef": ("identifier href", ""),
    "outcomeProcessing": ("", "setOutcomeValue*"),
    "sum": ("", "testVariables+"),
    "testVariables": ("variableIdentifier", ""),
    # Content Packaging
    "manifest": ("identifier", "metadata? organizations resources"),
    "metadata": ("", "schema? schemaversion?"),
    "organizations": ("", ""),
    "resources": ("", "resource*"),
    "resource": ("identifier type href", "file* dependency*"),
    "file": ("href", ""),
    "dependency": ("identifierref", ""),
}  # fmt: skip
#: Further attributes that these elements use, and the schema has; all elements of text have ``class``.
OPTIONAL = {
    "assessmentItem": "schemaLocation lang", "assessmentTest": "schemaLocation", "manifest": "schemaLocation",
    "textEntryInteraction": "expectedLength", "a": "href class",
}  # fmt: skip
#: Values of attributes by their types in the schema; every other attribute is text.
NAME, TRUTH, COUNT, FLOAT = r"[A-Za-z_][\w.-]*", "true|false", r"\d+", r"-?\d+(\.\d+)?([eE][-+]?\d+)?"
KINDS = "boolean|directedPair|duration|file|float|identifier|integer|pair|point|string|uri"
VALUES = {
    "identifier": NAME, "identifierref": NAME, "responseIdentifier": NAME, "outcomeIdentifier": NAME, "variableIdentifier": NAME,
    "adaptive": TRUTH, "timeDependent": TRUTH, "visible": TRUTH, "shuffle": TRUTH, "baseType": KINDS,
    "cardinality": "multiple|ordered|record|single", "showHide": "show|hide", "navigationMode": "linear|nonlinear",
    "submissionMode": "individual|simultaneous", "toleranceMode": "absolute|exact|relative", "tolerance": f"{FLOAT}( {FLOAT})?",
    "select": COUNT, "maxChoices": COUNT, "expectedLength": COUNT,
}  # fmt: skip
#: Texts of values by their base type.
TYPED = {"float": FLOAT, "identifier": NAME}
FLOW = {"modalFeedback": "outcomeIdentifier identifier showHide", "simpleChoice": "identifier", "itemBody": ""}
BLOCKS = {"p", "div", "pre", "ul", "ol", "table", "hr", "h1", "h2", "h3", "h4", "h5", "h6"}
INLINE = {"a", "b", "br", "code", "em", "i", "small", "span", "strong", "sub", "sup", "kbd", "var", "math"}
INSIDE = {"ul": {"li"}, "ol": {"li"}, "table": {"thead", "tbody"}, "thead": {"tr"}, "tbody": {"tr"}, "tr": {"td", "th"}}


def check(element: ET.Element, namespace: str = QTI) -> None:
    """Hold an element and all inside it against the schema's structure."""
    space, _, tag = element.tag[1:].partition("}")
    if tag == "math":
        assert space == MATHML
        return
    assert space == namespace
    children = [child.tag.rpartition("}")[2] for child in element]
    if tag in MODEL:
        attributes, order = MODEL[tag]
        assert set(attributes.split()) <= set(element.attrib), tag
        rest = list(children)
        for part in order.split():
            names, most = part.rstrip("*?+").split("|"), (part[-1] if part[-1] in "*?+" else "1")
            count = next((k for k, child in enumerate(rest) if child not in names), len(rest))
            assert {"*": True, "?": count <= 1, "+": count >= 1, "1": count == 1}[most], (tag, part, children)
            rest = rest[count:]
        assert not rest, (tag, children)
    elif tag in FLOW:
        assert set(FLOW[tag].split()) <= set(element.attrib)
        assert tag != "itemBody" or (
            set(children) <= BLOCKS | {"choiceInteraction"} and not (element.text or "").strip()
        )
        assert set(children) <= BLOCKS | INLINE | {"choiceInteraction"}
    elif tag in INSIDE:
        assert set(children) <= INSIDE[tag]
        assert tag != "table" or "tbody" in children
    elif tag in ("div", "li", "td", "th"):
        assert set(children) <= BLOCKS | INLINE
    elif tag in BLOCKS | INLINE:
        assert set(children) <= INLINE | {"textEntryInteraction"}, (tag, children)
    else:
        assert not children, tag
        assert tag in ("value", "schema", "schemaversion"), tag
    check_attributes(element, tag)
    for child in element:
        check(child, namespace)


def check_attributes(element: ET.Element, tag: str) -> None:
    """Allow the attributes that the schema has, with values of their types."""
    required = MODEL[tag][0] if tag in MODEL else FLOW.get(tag, "")
    is_text = tag in BLOCKS | INLINE | set(INSIDE) | {"li", "td", "th"}
    allowed = {*required.split(), *OPTIONAL.get(tag, "class" if is_text else "").split()}
    found = {name.rpartition("}")[2]: value for name, value in element.attrib.items()}
    assert set(found) <= allowed, (tag, found)
    for name, value in found.items():
        assert name not in VALUES or re.fullmatch(VALUES[name], value), (tag, name, value)
    if tag == "baseValue":
        assert re.fullmatch(TYPED[found["baseType"]], element.text or ""), element.text


def check_references(item: ET.Element) -> None:
    """Allow only names of declared variables, with values of their types; a field takes a number or text."""
    variables = {
        one.get("identifier"): one
        for one in item
        if one.tag.rpartition("}")[2] in ("responseDeclaration", "outcomeDeclaration")
    }
    assert len(variables) == sum(one.tag.endswith("Declaration") for one in item)
    for one in variables.values():
        for value in one.iter(f"{{{QTI}}}value"):
            assert re.fullmatch(TYPED[one.get("baseType", "")], value.text or ""), value.text
    for one in item.iter():
        tag = one.tag.rpartition("}")[2]
        if tag in ("variable", "correct", "setOutcomeValue"):
            assert one.get("identifier") in variables, tag
        for key in ("responseIdentifier", "outcomeIdentifier"):
            assert one.get(key) in (None, *variables), tag
        if tag == "textEntryInteraction":
            assert variables[one.get("responseIdentifier")].get("baseType") in ("string", "float", "integer")
    choices = [one.get("identifier") for one in item.iter(f"{{{QTI}}}simpleChoice")]
    assert len(set(choices)) == len(choices)


def parsed(files: dict[str, str]) -> dict[str, ET.Element]:
    return {name: ET.fromstring(text.encode()) for name, text in files.items()}


def check_package(files: dict[str, ET.Element]) -> None:
    """All files have their structure, and the manifest and the test name every item once."""
    for name, root in files.items():
        check(root, CP if name == "imsmanifest.xml" else QTI)
    manifest, test = files["imsmanifest.xml"], files["test.xml"]
    resources = manifest.findall(f".//{{{CP}}}resource")
    assert sorted(one.get("href", "") for one in resources) == sorted(set(files) - {"imsmanifest.xml"})
    assert all(one.find(f"{{{CP}}}file").get("href") == one.get("href") for one in resources)  # type: ignore[union-attr]
    kinds = {one.get("href"): one.get("type") for one in resources}
    assert {kind for name, kind in kinds.items() if name != "test.xml"} == {"imsqti_item_xmlv2p1"}
    assert kinds["test.xml"] == "imsqti_test_xmlv2p1"
    items = {name: root for name, root in files.items() if name.startswith("items/")}
    for item in items.values():
        check_references(item)
    references = {one.get("href"): one.get("identifier") for one in test.iter(f"{{{QTI}}}assessmentItemRef")}
    assert references == {name: root.get("identifier") for name, root in items.items()}
    assert {one.get("identifierref") for one in manifest.iter(f"{{{CP}}}dependency")} == set(references.values())
    # Rule set 2 of the schema: test, parts, sections and items have identifiers of their own.
    inside = [
        one.get("identifier") for one in test.iter() if one.tag.rpartition("}")[2].startswith(("assess", "testPart"))
    ]
    assert len(set(inside)) == len(inside)
    identifiers = [one.get("identifier") for one in resources]
    assert len(set(identifiers)) == len(identifiers)


def answered(item: ET.Element, response: str | float | None) -> tuple[float, list[str]]:
    """The score of an answer and the feedback that is shown, as a player of QTI finds them."""
    values: dict[str | None, Any] = {"RESPONSE": response, "SCORE": 0.0, "FEEDBACK": None}
    processing = item.find(f"{{{QTI}}}responseProcessing")
    assert processing is not None
    for rule in processing:
        if rule.tag.endswith("responseCondition"):
            for branch in rule:
                first = branch[0]
                is_test = not first.tag.endswith("setOutcomeValue")
                if not is_test or holds(first, item, values):
                    for one in list(branch)[is_test:]:
                        values[one.get("identifier")] = valued(one[0], values)
                    break
        else:
            values[rule.get("identifier")] = valued(rule[0], values)
    shown = [
        "".join(one.itertext())
        for one in item.iterfind(f"{{{QTI}}}modalFeedback")
        if one.get("identifier") == values["FEEDBACK"]
    ]
    return values["SCORE"], shown


def holds(test: ET.Element, item: ET.Element, values: dict[str | None, Any]) -> bool:
    given = values["RESPONSE"]
    match test.tag.rpartition("}")[2]:
        case "isNull":
            return given is None
        case "match":
            return bool(given == item.findtext(f"{{{QTI}}}responseDeclaration/{{{QTI}}}correctResponse/{{{QTI}}}value"))
        case _:  # first and second are equal if second - t0 <= first <= second + t1
            low, high = (float(one) for one in test.get("tolerance", "").split())
            assert test.get("toleranceMode") == "absolute"
            return bool(float(test[1].text or "") - low <= given <= float(test[1].text or "") + high)


def valued(expression: ET.Element, values: dict[str | None, Any]) -> Any:
    if expression.tag.endswith("variable"):
        return values[expression.get("identifier")]
    return float(expression.text or "") if expression.get("baseType") == "float" else expression.text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seeded_lesson(
        tmp_path_factory.mktemp("qti") / "small", (", hint: Divide.", ", unit: '%', hint: Divide & see.")
    )


@pytest.fixture(scope="module")
def bank(folder: Path) -> Bank:
    return read_bank(folder, 1)


def variants_of(bank: Bank, files: dict[str, ET.Element]) -> list[tuple[str, Variant, ET.Element]]:
    found = [(topic.name, one) for topic in bank.topics for one in topic.variants]
    return [(name, one, files[f"items/{name}-{one.code}.xml"]) for name, one in found]


def test_structure(bank: Bank) -> None:
    files = parsed(qti_files(bank))
    check_package(files)
    assert len(files) == 2 + sum(len(topic.variants) for topic in bank.topics)
    sections = files["test.xml"].findall(f".//{{{QTI}}}assessmentSection")
    assert [len(one.findall(f"{{{QTI}}}assessmentItemRef")) for one in sections] == [4, 4, 4]
    assert {one.find(f"{{{QTI}}}selection").get("select") for one in sections} == {"1"}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("<itemBody>", "<itemBody><object/>"),
        ("<itemBody>", "<itemBody>Text"),
        ("<itemBody>", '<itemBody style="x">'),
        ("<correctResponse>", "<defaultValue><value>1</value></defaultValue><correctResponse>"),
        ('title="factor 1" ', ""),
        ('cardinality="single"', 'cardinality="one"'),
        ('baseType="float"', 'baseType="real"'),
        ('timeDependent="false"', 'timeDependent="no"'),
        ('toleranceMode="absolute"', 'toleranceMode="about"'),
        ('<variable identifier="RESPONSE" />', '<variable identifier="ANSWER" />'),
        ('<baseValue baseType="float">0<', '<baseValue baseType="float">0,5<'),
        ("</responseProcessing>", "</responseProcessing><itemBody><p>b</p></itemBody>"),
        ('identifier="SCORE"', 'identifier="my score"'),
    ],
)
def test_what_the_schema_refuses_is_found(bank: Bank, good: str, bad: str) -> None:
    text = qti_files(bank)["items/factor-1.xml"]
    assert good in text
    item = ET.fromstring(text.replace(good, bad, 1).encode())
    with pytest.raises(AssertionError):
        (check(item), check_references(item))


def test_the_order_of_declarations(bank: Bank) -> None:
    item = ET.fromstring(qti_files(bank)["items/factor-1.xml"].encode())
    check(item)
    first = item[0]
    item.remove(first)
    item.insert(1, first)
    with pytest.raises(AssertionError):
        check(item)


@pytest.mark.thorough
@pytest.mark.parametrize("language", ["en", "de"])
def test_the_shipped_bank(language: str) -> None:
    files = parsed(qti_files(read_bank(lesson_folder("bank"), 2, language=language)))
    check_package(files)
    assert len(files) > 300


def test_a_player_gives_the_points_of_the_page(bank: Bank) -> None:
    files = parsed(qti_files(bank))
    for name, one, item in variants_of(bank, files):
        assert answered(item, None) == (0.0, [])
        if one.choices:
            for choice in one.choices:
                score, shown = answered(item, f"choice_{choice.key}")
                assert (score, shown) == (one.points if choice.is_right else 0.0, [choice.feedback])
            continue
        answer, relative = one.replies[0].value, {"number": 0.01, "factor": 0.05}[name]
        for off in (-1, -0.5, -0.0501, -0.0499, -0.0101, -0.0099, 0, 0.0099, 0.0101, 0.0499, 0.0501, 1):
            score, shown = answered(item, answer * (1 + off))
            assert (score == one.points) is is_near(answer * (1 + off), answer, relative) is (abs(off) <= relative)
            assert score in (0.0, one.points)
        assert "Half of it." in answered(item, answer / 2)[1] or name == "factor"
        assert any("Divide & see." in text for text in answered(item, answer * 3)[1]) is (name == "factor")


def test_answers_are_those_for_moodle(bank: Bank) -> None:
    """Both formats are written from one description; this reads the answers from the files."""
    files, quiz = parsed(qti_files(bank)), quiz_of(bank)
    path = f"{{{QTI}}}responseDeclaration/{{{QTI}}}correctResponse/{{{QTI}}}value"
    numbers = {name: item.findtext(path) for name, item in files.items() if name.startswith(("items/n", "items/f"))}
    asked = quiz.findall("question[@type='numerical']")
    assert numbers == {
        f"items/{one.findtext('name/text', '').replace(' ', '-')}.xml": one.findtext("answer/text") for one in asked
    }
    assert len(numbers) == 8


def test_an_exam_has_no_hints(folder: Path) -> None:
    withheld: list[object] = []
    files = parsed(qti_files(read_bank(folder, 1, exam=True, on_withheld=withheld.append)))
    check_package(files)
    assert withheld
    assert not any("Divide" in "".join(root.itertext()) for root in files.values())


def test_the_shipped_exam_in_both_languages() -> None:
    lesson = read_lesson(lesson_folder("exam"))
    numbers = numbers_without_simulating(lesson, Lattice, formula_times)
    for language, words in ((None, "Answer: "), ("de", "Antwort: ")):
        told = contents(in_language(lesson, language), numbers)[0]
        files = parsed(qti_files(bank_of(told, told, None)))
        check_package(files)
        item = files["items/slowest-1.xml"]
        assert words in "".join(item.itertext())
        assert item.get("{http://www.w3.org/XML/1998/namespace}lang") == (language or "en")


def test_html_that_qti_does_not_have() -> None:
    html = (
        'Text <em data-x="1">and</em> more<p style="a" class="b">One <blink>two</blink></p><math><mi>x</mi></math>'
        '<section><p>in</p></section><ol start="3"><li>c</li></ol>'
    )
    root = ET.Element("itemBody", xmlns=QTI)
    root.extend(blocks(html))
    found = ET.fromstring(ET.tostring(root))
    check(found)
    assert "".join(found.itertext()) == "Text and moreOne twoxinc"
    assert found.find(f".//{{{MATHML}}}mi") is not None
    with pytest.raises(InputError, match="well-formed"):
        blocks("<p>a<br></p>")


def test_the_command_writes_the_same_file_each_time(
    folder: Path, bank: Bank, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "questions.zip"
    assert cli.main(["lesson", "build", str(folder), "--write", f"qti:{path}", "-j", "1"]) == 0
    assert "12 questions in 3 categories; without sketch" in capfd.readouterr().out
    with ZipFile(io.BytesIO(path.read_bytes())) as package:
        assert package.testzip() is None
        files = {name: package.read(name).decode() for name in package.namelist()}
    assert files == qti_files(bank)
    assert next(iter(files)) == "imsmanifest.xml"
    write_qti(bank, tmp_path / "again.zip")
    assert path.read_bytes() == (tmp_path / "again.zip").read_bytes()
