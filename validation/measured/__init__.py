"""Times that were measured on real machines, each beside formula, forecast and simulation. Constants come of stated rows alone."""

from simcodesign.studies.validation.case import Collection

COLLECTION = Collection("measurements", "Times measured on real machines, Fugaku among them")
