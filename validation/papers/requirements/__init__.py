"""Requirements engineering for co-design (Calotoiu et al.)."""

from simcodesign.studies.validation.case import Collection

COLLECTION = Collection("papers", "Calotoiu et al.: requirements of applications for the design of machines")
