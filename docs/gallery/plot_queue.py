"""
A disk as M/M/1
===============

Reads arrive at random and take a random time. The mean response grows as :math:`1/(1 - \\rho)`; a simulation of
finitely many requests scatters around it, most where the disk is nearly always busy.
"""

import matplotlib.pyplot as plt
import numpy as np

import simcodesign as sc

ONE_DISK = sc.Machine.load("power-challenge", changes={"disk.spindles": 1})
RATES = np.array([50.0, 150, 250, 290, 310])
figure, axes = plt.subplots()
forecasts, simulations = [], []
for rate in RATES:
    case = ("disk-queue", ONE_DISK, {"P": 1, "rate": rate, "requests": 5000})
    forecasts.append(sc.forecast(*case).response_s)
    simulations.append([sc.simulate(*case, seed=seed).response_s for seed in range(5)])
axes.plot(RATES, np.array(forecasts).ravel() * 1e3, color="#E69F00", label="forecast")
axes.plot(RATES, np.array(simulations).reshape(len(RATES), -1) * 1e3, "o", color="#0072B2", alpha=0.5)
axes.set(xlabel="reads per second", ylabel="mean response (ms)")
axes.legend(["forecast", "simulation, five seeds"])
