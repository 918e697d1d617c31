"""Formulas of the literature that shipped workloads carry: where they hold, where they fail, and what explains it."""

from simcodesign.studies.validation.case import Collection

COLLECTION = Collection(
    "theory", "Formulas of the literature that shipped workloads carry: where they hold, where they fail"
)
