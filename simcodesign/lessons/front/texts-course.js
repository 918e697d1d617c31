// Texts of what outlives a page: answers that are kept, files of answers, the summary, links, and learning platforms.

export const COURSE = {
  en: {
    import: "Import answers", importDone: "Imported: {0} answers.", importNoFile: "This is not a file of answers of this lesson.", importOtherLesson: "These are answers to another lesson, {0}.",
    importOtherVersion: "These are answers to another version of this lesson.", importOtherCode: "These are answers of {0}. This page has the numbers of {1}.", importPractice: "These are answers from a practice page, and this is an exam.",
    summary: "Summary", summaryScore: "{0} of {1} points", summaryAnswered: "{0} of {1} questions answered", summaryOpen: "not answered", summaryRight: "right", summaryHalf: "half right", summaryWrong: "not right", summaryKept: "answered",
    summaryTries: "{0} tries", summaryQuestion: "Question {0}", summaryStep: "Step {0}: {1}", summaryNote: "The last answer to a question counts.", summaryPrediction: "Prediction", result: "Result",
    keptHere: "Answers and drawings are kept in this browser. Nothing is sent.", keptPlatform: "The learning platform receives the score and keeps the answers.", madeReported: "All numbers were computed by simcodesign when this file was built. The learning platform receives score and answers.", keptNowhere: "This browser keeps nothing: export your answers before you leave the page.", forget: "Delete and start again", forgetSure: "Delete all answers and drawings of this page?",
    share: "Link and embed", shareLink: "Link to this step, with the sliders and effects as they are", shareEmbed: "HTML that shows this step in another page", shareNote: "Others can open both if the page is on a web server.", close: "Close",
  },
  de: {
    import: "Antworten importieren", importDone: "Importiert: {0} Antworten.", importNoFile: "Das ist keine Datei mit Antworten zu dieser Lektion.", importOtherLesson: "Das sind Antworten zu einer anderen Lektion, {0}.",
    importOtherVersion: "Das sind Antworten zu einer anderen Fassung dieser Lektion.", importOtherCode: "Das sind Antworten von {0}. Diese Seite hat die Zahlen von {1}.", importPractice: "Das sind Antworten aus einer Übungsseite, und dies ist eine Prüfung.",
    summary: "Zusammenfassung", summaryScore: "{0} von {1} Punkten", summaryAnswered: "{0} von {1} Fragen beantwortet", summaryOpen: "nicht beantwortet", summaryRight: "richtig", summaryHalf: "halb richtig", summaryWrong: "nicht richtig", summaryKept: "beantwortet",
    summaryTries: "{0} Versuche", summaryQuestion: "Frage {0}", summaryStep: "Schritt {0}: {1}", summaryNote: "Es zählt die letzte Antwort auf eine Frage.", summaryPrediction: "Vorhersage", result: "Ergebnis",
    keptHere: "Antworten und Zeichnungen bleiben in diesem Browser erhalten. Nichts wird gesendet.", keptPlatform: "Die Lernplattform erhält die Punkte und bewahrt die Antworten auf.", madeReported: "Alle Zahlen hat simcodesign beim Erzeugen dieser Datei berechnet. Die Lernplattform erhält Punkte und Antworten.", keptNowhere: "Dieser Browser behält nichts: exportieren Sie Ihre Antworten, bevor Sie die Seite verlassen.", forget: "Löschen und neu beginnen", forgetSure: "Alle Antworten und Zeichnungen dieser Seite löschen?",
    share: "Verweisen und einbetten", shareLink: "Verweis auf diesen Schritt, mit Reglern und Effekten wie jetzt", shareEmbed: "HTML, das diesen Schritt in einer anderen Seite zeigt", shareNote: "Andere können beides öffnen, wenn die Seite auf einem Webserver liegt.", close: "Schließen",
  },
};
