"""Cost of owning a machine: its price and carbon over years, and the price and carbon of its energy."""

from __future__ import annotations

from dataclasses import dataclass

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.keys.forms import ABOVE_0, FROM_0, FROM_1, Amount
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Section

J_PER_KWH = 3.6e6
S_PER_YEAR = 365.25 * 24 * 3600
G_PER_KG = 1000.0


@dataclass(frozen=True)
class Ownership:
    """``years``: of use, over which price and embodied carbon are spread evenly.

    ``energy_price``: of a kWh, in the unit of ``price``; ``pue``: power usage effectiveness, energy of the building
    over the energy of the machine; ``carbon_intensity``: grams of CO2 equivalent that a kWh emits. None: not
    stated.
    """

    years: float
    energy_price: float | None = None
    pue: float = 1.0
    carbon_intensity: float | None = None

    @property
    def lifetime_s(self) -> float:
        """Seconds of its years of 365.25 days."""
        return self.years * S_PER_YEAR

    def cost(self, price: FloatOrArray, power_w: FloatOrArray) -> FloatOrArray | None:
        """Return the cost of ownership: the price, and the energy of all years at this power of the machine.

        None without a price of energy.
        """
        if self.energy_price is None:
            return None
        return price + power_w * self.lifetime_s * self.pue / J_PER_KWH * self.energy_price

    def run_cost(self, price: FloatOrArray, energy_j: FloatOrArray, time_s: FloatOrArray) -> FloatOrArray | None:
        """Return the cost of a run: its part of the price, by its part of the years, and its energy."""
        if self.energy_price is None:
            return None
        return price * time_s / self.lifetime_s + energy_j * self.pue / J_PER_KWH * self.energy_price

    def carbon_kg(self, embodied_kg: FloatOrArray, energy_j: FloatOrArray, time_s: FloatOrArray) -> FloatOrArray | None:
        """Return the carbon of a run; None without a carbon intensity.

        Its part of the embodied carbon, by its part of the years, and the emissions of its energy.
        """
        if self.carbon_intensity is None:
            return None
        emitted = energy_j * self.pue / J_PER_KWH * self.carbon_intensity / G_PER_KG
        return embodied_kg * time_s / self.lifetime_s + emitted


OWNERSHIP = Section(
    Key(
        "years",
        Amount("count", ABOVE_0),
        "years of use, over which price and embodied carbon are spread",
        required=True,
    ),
    Key("energy_price", Amount("count", FROM_0), "price of a kWh, in the unit of `price`", "no cost of ownership"),
    Key("pue", Amount("count", FROM_1), "energy of the building over energy of the machine", "1"),
    Key("carbon_intensity", Amount("count", FROM_0), "grams of CO2 equivalent of a kWh", "no carbon of a run"),
    make=Ownership,
)
