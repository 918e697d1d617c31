"""SPECseis96 resource-usage equations (Armstrong, Eigenmann)."""

from simcodesign.studies.validation.case import Collection

COLLECTION = Collection("papers", "Armstrong and Eigenmann: resource usage of the seismic suite SPECseis96")
