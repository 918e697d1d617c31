"""Exascale feasibility of conjugate gradients (Bhatele et al.)."""

from simcodesign.studies.validation.case import Collection

COLLECTION = Collection("papers", "Bhatele et al.: conjugate gradients at exascale, and which machines would do")
