"""Hardware-counter models (APMT; Ding)."""

from simcodesign.studies.validation.case import Collection

COLLECTION = Collection("papers", "Ding et al.: predictions from hardware counters")
