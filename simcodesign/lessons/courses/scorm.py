"""A lesson as a package of SCORM 1.2: the page, which reports its score, and the manifest of the package.

The manifest is described in ADL's SCORM Content Aggregation Model 1.2 (2001). ``front/scorm.js`` calls the API of ADL's
Run-Time Environment 1.2.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from simcodesign.lessons.courses.packages import XSI, document, identifier, write_package

CP = "http://www.imsproject.org/xsd/imscp_rootv1p1p2"
ADLCP = "http://www.adlnet.org/xsd/adlcp_rootv1p2"
_PAGE = "index.html"


def write_scorm(name: str, title: str, page: str, output: Path) -> None:
    """Write the page of a lesson, built with ``is_scorm``, as a package with one sharable content object."""
    write_package({"imsmanifest.xml": document(manifest(name, title)), _PAGE: page}, output)


def manifest(name: str, title: str) -> ET.Element:
    """Return the element ``manifest`` of a package."""
    schemas = f"{CP} imscp_rootv1p1p2.xsd {ADLCP} adlcp_rootv1p2.xsd"
    spaces = {"xmlns": CP, "xmlns:adlcp": ADLCP, "xmlns:xsi": XSI, "xsi:schemaLocation": schemas}
    root = ET.Element("manifest", {**spaces, "identifier": f"simcodesign-{identifier(name)}", "version": "1.0"})
    metadata = ET.SubElement(root, "metadata")
    ET.SubElement(metadata, "schema").text = "ADL SCORM"
    ET.SubElement(metadata, "schemaversion").text = "1.2"
    organizations = ET.SubElement(root, "organizations", default="organization")
    organization = ET.SubElement(organizations, "organization", identifier="organization")
    ET.SubElement(organization, "title").text = title
    item = ET.SubElement(organization, "item", identifier="item", identifierref="lesson")
    ET.SubElement(item, "title").text = title
    kind = {"type": "webcontent", "adlcp:scormtype": "sco"}
    resource = ET.SubElement(
        ET.SubElement(root, "resources"), "resource", {"identifier": "lesson", **kind, "href": _PAGE}
    )
    ET.SubElement(resource, "file", href=_PAGE)
    return root
