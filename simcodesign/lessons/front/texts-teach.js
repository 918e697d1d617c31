// The texts of slides, of hints, and of pages that are not lessons.

export const TEACH = {
  en: {
    slides: "Slides", slidesBar: "Slides", slideBefore: "Slide before", slideAfter: "Next slide", slidesEnd: "End slides", slideOf: "{0} of {1}",
    madeRun: "All numbers were computed by simcodesign.", skipRun: "Skip to the figures", ownLab: "With a machine and a workload of your own: simcodesign lab {0}",
    hintOf: "Hint {0} of {1}:", solution: "Solution:", solutionDrawn: "The curve in the figure.",
    classHead: "Predictions of a class", classNote: "Choose the files of answers that students have saved. They are read in this page and go nowhere. Formula and simulation are marked once a prediction has been compared here.",
    classFiles: "Choose files", classAt: "Predicted at", classClose: "Close", classCount: "{0} files, {1} of them with a prediction here.", classWrong: "Not of this lesson: {0}.", classWords: "{0} predictions: half of them up to {1}, from {2} to {3}.",
  },
  de: {
    slides: "Folien", slidesBar: "Folien", slideBefore: "Folie davor", slideAfter: "Nächste Folie", slidesEnd: "Folien beenden", slideOf: "{0} von {1}",
    madeRun: "Alle Zahlen hat simcodesign berechnet.", skipRun: "Zu den Bildern springen", ownLab: "Mit eigener Maschine und eigenem Programm: simcodesign lab {0}",
    hintOf: "Hinweis {0} von {1}:", solution: "Lösung:", solutionDrawn: "Die Kurve im Bild.",
    classHead: "Vorhersagen einer Klasse", classNote: "Wählen Sie die Antwortdateien, die Studierende gespeichert haben. Sie werden nur auf dieser Seite gelesen. Formel und Simulation sind eingezeichnet, sobald hier eine Vorhersage verglichen ist.",
    classFiles: "Dateien wählen", classAt: "Vorhergesagt bei", classClose: "Schließen", classCount: "{0} Dateien, {1} davon mit einer Vorhersage dafür.", classWrong: "Nicht von dieser Lektion: {0}.", classWords: "{0} Vorhersagen: die Hälfte bis {1}, von {2} bis {3}.",
  },
};
