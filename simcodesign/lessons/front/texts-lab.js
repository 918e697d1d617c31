// The texts of the laboratory's panel.

export const LAB = {
  en: {
    labLessons: "Lessons", labHome: "All lessons of the laboratory", labTitle: "Your own machine and workload",
    labNote: "Change the texts: the forecast follows. Simulations fill in point by point, and begin anew when something changes.",
    labMachine: "Machine", labWorkload: "Workload", labFrom: "begin with", labChoose: "choose ...", labLine: "line {0}", labFine: "No error.", labAxis: "Over",
    labLow: "from", labHigh: "to", labEffects: "Effects", labRun: "Simulate", labStop: "Stop", labForecast: "{0} forecasts in {1} ms",
    labPoints: "{0} of {1} points simulated", labWaits: "changed; simulations begin in a moment", labGone: "The laboratory does not answer: has it been ended?",
    labUnknown: "Mend the text first.", labRatio: "simulation ÷ forecast at {0}: {1}", labTo: "Go to line {0} of {1}",
    labAt: "Ladder and Gantt chart at", labShow: "Show", labRungs: "{0} of {1} rungs simulated", labLadder: "The ladder", labGantt: "Every rank over time, in one run",
    labLadderNote: "From the forecast to the simulation, effect by effect; click a row", labForecastEnd: "forecast", labNoRun: "No Gantt chart: {0}",
    labPin: "Pin this curve", labFit: "Fit the axis", labPinned: "Pinned", labDiffers: "what differs: then → now", labNowForecast: "forecast, now ÷ then", labNowSimulation: "simulation, now ÷ then", labPinDo: "use",
    labTakeBack: "Go back to it", labUnpin: "Remove pin {0}", labSame: "as now", labOtherAxis: "drawn over {0}", labOff: "effects that are off",
    labTake: "From this lesson", labPhases: "Phases", labAll: "all", labSave: "Save as a file", labOpen: "Open a file", labAgain: "Start again", labNoFile: "{0} is not a file of the laboratory.",
  },
  de: {
    labLessons: "Lektionen", labHome: "Alle Lektionen des Labors", labTitle: "Eigene Maschine und eigenes Programm",
    labNote: "Ändern Sie die Texte: Die Vorhersage folgt. Simulationen kommen Punkt für Punkt hinzu und beginnen neu, wenn sich etwas ändert.",
    labMachine: "Maschine", labWorkload: "Programm", labFrom: "beginnen mit", labChoose: "wählen ...", labLine: "Zeile {0}", labFine: "Kein Fehler.", labAxis: "Über",
    labLow: "von", labHigh: "bis", labEffects: "Effekte", labRun: "Simulieren", labStop: "Anhalten", labForecast: "{0} Vorhersagen in {1} ms",
    labPoints: "{0} von {1} Punkten simuliert", labWaits: "geändert; Simulationen beginnen gleich", labGone: "Das Labor antwortet nicht: Wurde es beendet?",
    labUnknown: "Berichtigen Sie zuerst den Text.", labRatio: "Simulation ÷ Vorhersage bei {0}: {1}", labTo: "Zu Zeile {0} in: {1}",
    labAt: "Leiter und Balkendiagramm bei", labShow: "Zeigen", labRungs: "{0} von {1} Sprossen simuliert", labLadder: "Die Leiter", labGantt: "Jeder Rang über der Zeit, in einem Lauf",
    labLadderNote: "Von der Vorhersage zur Simulation, Effekt für Effekt; klicken Sie auf eine Zeile", labForecastEnd: "Vorhersage", labNoRun: "Kein Balkendiagramm: {0}",
    labPin: "Diese Kurve anheften", labFit: "Achse anpassen", labPinned: "Angeheftet", labDiffers: "was anders ist: damals → jetzt", labNowForecast: "Vorhersage, jetzt ÷ damals", labNowSimulation: "Simulation, jetzt ÷ damals", labPinDo: "verwenden",
    labTakeBack: "Dorthin zurück", labUnpin: "Kurve {0} entfernen", labSame: "wie jetzt", labOtherAxis: "über {0} gezeichnet", labOff: "ausgeschaltete Effekte",
    labTake: "Aus dieser Lektion", labPhases: "Phasen", labAll: "alle", labSave: "Als Datei speichern", labOpen: "Datei öffnen", labAgain: "Von vorn beginnen", labNoFile: "{0} ist keine Datei des Labors.",
  },
};
