"""Numbers that theory gives: queueing, collectives, routes, congestion, locality."""

from simcodesign.studies.validation.case import Collection

COLLECTION = Collection("theory", "Theory: queueing, collectives, routes, congestion, locality, storage")
