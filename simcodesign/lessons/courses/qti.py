"""Questions as a package of IMS Question and Test Interoperability (QTI) 2.1, with one item for each variant.

The test of the package has a section for each question, of which every attempt draws one variant. The formats are
described at https://www.imsglobal.org/question/index.html: Assessment Test, Section, and Item Information Model 2.1,
and Content Packaging 1.2.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from simcodesign.lessons.courses.bank import Bank, Topic, Variant, in_digits
from simcodesign.lessons.courses.packages import XSI, document, identifier, write_package
from simcodesign.lessons.courses.xhtml import blocks

QTI = "http://www.imsglobal.org/xsd/imsqti_v2p1"
CP = "http://www.imsglobal.org/xsd/imscp_v1p1"
_QTI_SCHEMA = f"{QTI} http://www.imsglobal.org/xsd/qti/qtiv2p1/imsqti_v2p1p1.xsd"
_CP_SCHEMA = f"{CP} http://www.imsglobal.org/xsd/qti/qtiv2p1/qtiv2p1_imscpv1p2_v1p0.xsd"
_WORDS = {"en": ("Answer", "Hint"), "de": ("Antwort", "Hinweis")}
#: Identifiers of feedback to numbers; identifiers of choices begin with "choice_".
_RIGHT, _OTHERWISE = "right", "otherwise"


def write_qti(bank: Bank, output: Path) -> None:
    """Write questions as a zip file: ``imsmanifest.xml``, ``test.xml`` and a file for each item."""
    write_package(qti_files(bank), output)


def qti_files(bank: Bank) -> dict[str, str]:
    """Return the texts of the files of a package by their names."""
    items = {_name(topic, one): _item(topic, one, bank.language) for topic in bank.topics for one in topic.variants}
    return {
        "imsmanifest.xml": document(_manifest(bank, list(items))),
        "test.xml": document(_test(bank)),
        **{_file(name): document(item, is_indented=False) for name, item in items.items()},
    }


def _name(topic: Topic, one: Variant) -> str:
    return f"{identifier(topic.name)}-{one.code}"


def _file(name: str) -> str:
    return f"items/{name}.xml"


def _root(tag: str, namespace: str, schema: str, **attributes: str) -> ET.Element:
    names = {"xmlns": namespace, "xmlns:xsi": XSI, "xsi:schemaLocation": schema}
    return ET.Element(tag, {**names, **attributes})


# --- The package


def _manifest(bank: Bank, names: list[str]) -> ET.Element:
    root = _root("manifest", CP, _CP_SCHEMA, identifier=f"simcodesign-{identifier(bank.lesson)}")
    metadata = ET.SubElement(root, "metadata")
    ET.SubElement(metadata, "schema").text = "QTIv2.1 Package"
    ET.SubElement(metadata, "schemaversion").text = "1.0.0"
    ET.SubElement(root, "organizations")
    resources = ET.SubElement(root, "resources")
    test = _resource(resources, "test", "imsqti_test_xmlv2p1", "test.xml")
    for name in names:
        ET.SubElement(test, "dependency", identifierref=name)
        _resource(resources, name, "imsqti_item_xmlv2p1", _file(name))
    return root


def _resource(resources: ET.Element, name: str, kind: str, file: str) -> ET.Element:
    resource = ET.SubElement(resources, "resource", identifier=name, type=kind, href=file)
    ET.SubElement(resource, "file", href=file)
    return resource


def _test(bank: Bank) -> ET.Element:
    """Return a test with a section for each question, of which one variant is drawn; its score is the sum."""
    root = _root("assessmentTest", QTI, _QTI_SCHEMA, identifier=f"test_{identifier(bank.lesson)}", title=bank.title)
    _outcome(root, "SCORE", "float", "0")
    part = ET.SubElement(root, "testPart", identifier="part", navigationMode="nonlinear", submissionMode="individual")
    for topic in bank.topics:
        name = f"section_{identifier(topic.name)}"
        title = ", ".join((*topic.place, topic.name))
        section = ET.SubElement(part, "assessmentSection", identifier=name, title=title, visible="false")
        ET.SubElement(section, "selection", select="1")
        for one in topic.variants:
            ET.SubElement(section, "assessmentItemRef", identifier=_name(topic, one), href=_file(_name(topic, one)))
    processing = ET.SubElement(root, "outcomeProcessing")
    total = ET.SubElement(ET.SubElement(processing, "setOutcomeValue", identifier="SCORE"), "sum")
    ET.SubElement(total, "testVariables", variableIdentifier="SCORE")
    return root


# --- An item


def _item(topic: Topic, one: Variant, language: str) -> ET.Element:
    root = _root(
        "assessmentItem", QTI, _QTI_SCHEMA, identifier=_name(topic, one), title=f"{topic.name} {one.code}",
        adaptive="false", timeDependent="false", **{"xml:lang": language},
    )  # fmt: skip
    kind, right = ("identifier", _right_choice(one)) if one.choices else ("float", in_digits(one.replies[0].value))
    declared = ET.SubElement(root, "responseDeclaration", identifier="RESPONSE", cardinality="single", baseType=kind)
    ET.SubElement(ET.SubElement(declared, "correctResponse"), "value").text = right
    _outcome(root, "SCORE", "float", "0")
    _outcome(root, "MAXSCORE", "float", f"{one.points:g}")
    _outcome(root, "FEEDBACK", "identifier")
    body = ET.SubElement(root, "itemBody")
    ET.SubElement(body, "div").extend(blocks(f"{one.text}\n{one.asked}"))
    (_choices if one.choices else _field)(body, one, language)
    processing = ET.SubElement(root, "responseProcessing")
    (_judge_choice if one.choices else _judge_number)(ET.SubElement(processing, "responseCondition"), one)
    if one.choices:
        shown = ET.SubElement(processing, "setOutcomeValue", identifier="FEEDBACK")
        ET.SubElement(shown, "variable", identifier="RESPONSE")
    for name, html in _feedback(one, language):
        feedback = ET.SubElement(root, "modalFeedback", outcomeIdentifier="FEEDBACK", identifier=name, showHide="show")
        feedback.extend(blocks(html))
    return root


def _outcome(root: ET.Element, name: str, kind: str, value: str = "") -> None:
    declared = ET.SubElement(root, "outcomeDeclaration", identifier=name, cardinality="single", baseType=kind)
    if value:
        ET.SubElement(ET.SubElement(declared, "defaultValue"), "value").text = value


def _choices(body: ET.Element, one: Variant, language: str) -> None:
    offered = ET.SubElement(body, "choiceInteraction", responseIdentifier="RESPONSE", shuffle="true", maxChoices="1")
    for choice in one.choices:
        ET.SubElement(offered, "simpleChoice", identifier=f"choice_{choice.key}").extend(blocks(choice.html))


def _field(body: ET.Element, one: Variant, language: str) -> None:
    line = ET.SubElement(body, "p")
    line.text = f"{_WORDS[language][0]}: "
    field = ET.SubElement(line, "textEntryInteraction", responseIdentifier="RESPONSE", expectedLength="15")
    field.tail = f" {one.unit}" if one.unit else None


def _judge_choice(condition: ET.Element, one: Variant) -> None:
    branch = ET.SubElement(condition, "responseIf")
    match = ET.SubElement(branch, "match")
    ET.SubElement(match, "variable", identifier="RESPONSE")
    ET.SubElement(match, "correct", identifier="RESPONSE")
    _set(branch, "SCORE", "float", f"{one.points:g}")


def _judge_number(condition: ET.Element, one: Variant) -> None:
    """Add a branch for no answer, the answer, each known mistake and all other numbers; the first one counts."""
    ET.SubElement(ET.SubElement(ET.SubElement(condition, "responseIf"), "isNull"), "variable", identifier="RESPONSE")
    _set(condition[0], "SCORE", "float", "0")
    for number, reply in enumerate(one.replies):
        branch, off = ET.SubElement(condition, "responseElseIf"), in_digits(reply.max_error)
        equal = ET.SubElement(branch, "equal", toleranceMode="absolute", tolerance=f"{off} {off}")
        ET.SubElement(equal, "variable", identifier="RESPONSE")
        ET.SubElement(equal, "baseValue", baseType="float").text = in_digits(reply.value)
        if reply.is_right:
            _set(branch, "SCORE", "float", f"{one.points:g}")
        _set(branch, "FEEDBACK", "identifier", _reply_name(number))
    _set(ET.SubElement(condition, "responseElse"), "FEEDBACK", "identifier", _OTHERWISE)


def _set(branch: ET.Element, name: str, kind: str, value: str) -> None:
    outcome = ET.SubElement(branch, "setOutcomeValue", identifier=name)
    ET.SubElement(outcome, "baseValue", baseType=kind).text = value


def _feedback(one: Variant, language: str) -> list[tuple[str, str]]:
    """Return identifiers and HTML of all feedback with a text; wrong answers get the hints as well."""
    hints = "".join(f"<p>{_WORDS[language][1]}: {hint}</p>" for hint in one.hints)
    if one.choices:
        rows = [(f"choice_{each.key}", each.feedback, each.is_right) for each in one.choices]
    else:
        rows = [(_reply_name(number), reply.html, reply.is_right) for number, reply in enumerate(one.replies)]
        rows.append((_OTHERWISE, one.otherwise, False))
    texts = [(name, html if is_right else f"{_paragraph(html)}{hints}") for name, html, is_right in rows]
    return [(name, html) for name, html in texts if html]


def _paragraph(html: str) -> str:
    return html if not html or "<p>" in html else f"<p>{html}</p>"


def _reply_name(number: int) -> str:
    return f"mistake_{number}" if number else _RIGHT


def _right_choice(one: Variant) -> str:
    return f"choice_{next(choice.key for choice in one.choices if choice.is_right)}"
