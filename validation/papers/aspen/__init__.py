"""Aspen design-space exploration (Spafford, Vetter)."""

from simcodesign.studies.validation.case import Collection

COLLECTION = Collection("papers", "Spafford and Vetter: Aspen, a language for performance models")
