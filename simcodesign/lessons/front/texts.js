// The texts of the interface. {0}, {1} ... are filled in.

import { CACHE } from "./texts-cache.js";
import { COURSE } from "./texts-course.js";
import { LAB } from "./texts-lab.js";
import { TEACH } from "./texts-teach.js";

const TEXTS = {
  en: {
    ...CACHE.en, ...COURSE.en, ...LAB.en, ...TEACH.en,
    skip: "Skip to the lesson", lesson: "lessons", minutes: "{0} minutes", step: "Step {0}", steps: "Steps of the lesson",
    objectives: "You will be able to", made: "All numbers were computed by simcodesign when this file was built. Predictions and answers are sent nowhere.",
    formula: "Formula", simulation: "Simulation", you: "You", measured: "Measured", theme: "Dark or light", export: "Export answers",
    waiting_rung: "Messages, order, waiting", waiting_adds: "messages that the formula leaves out, the order of operations, and waiting for messages", off: "off", plus: "+{0}", drawPoint: "Your prediction at {0}", compare: "Compare", redraw: "Draw again",
    drawFirst: "Drag across the figure, or use the arrow keys.", locked: "This step opens when you have drawn your prediction in an earlier one and compared it.", openAnyway: "Open all steps", lockedAnswer: "This step opens when you have answered the question before it.", openStep: "Open this step", slidersStay: "The sliders can be moved when the prediction has been compared.",
    switchedOff: "Switched off: {0}", meanOf: "mean of {0} runs with other random numbers", ownScale: "The charts of this step have scales of their own.",
    draws: "Draws of chance", drawOf: "draw {0} of {1}", oneDraw: "one draw of {0}", drawBefore: "Draw before", drawAfter: "Next draw", drawAndMean: "One run, which takes {0}. Curves and ladders show the mean of {1}: {2}.",
    offBy: "off by ×{0}", closerYou: "Your pencil was closer to the simulation than the formula.", closerFormula: "The formula was closer to the simulation than your pencil.",
    play: "Play", pause: "Pause", next: "Next event", time: "Time", speed: "Speed", haveIt: "{0} of {1} messages have arrived", waitingNow: "{0} waiting",
    carried: "Link {0} → {1}", noWait: "{0} → {1} did not wait, on it {2} to {3}", waited: "{0} → {1} waited {2}, on it {3} to {4}",
    links: "Links with queues", choose: "choose a link", noQueue: "No message waits for a link in this run.", shown: "shown: {0}", hollow: "Hollow: simulated at {0}, the nearest stop",
    sends: "sends", receives: "receives", waits: "waits for its turn", path: "critical path", formulaEnd: "formula", rank: "node {0}",
    check: "Check", answer: "Your answer", hint: "Hint", right: "Right.", notYet: "Not yet.", number: "Please enter a number, such as 2279, 0.25 or 3/2.", low: "Too small.", high: "Too large.",
    ladderNote: "From the formula to the simulation, effect by effect; click a row", gap: "measured ÷ formula", gapSimulation: "measured ÷ simulation", each: "each step doubles",
    quartiles: "quartiles", interval: "Bars: 95 % intervals of the simulation, which has random noise", done: "done at {0}", mode: "Show", up: "Up to here: {0}", network: "network", bus: "the bus",
    rows_ranks: "one row per node", rows_rounds: "one row per round of messages", rows_stations: "one row per station", works: "computes", disk: "reads or writes", memory: "uses memory", serves: "serves", waitsThere: "somebody waits there", onTheWay: "message on its way",
    upperHalf: "upper half of a row: what the node does while a message comes in", future: "faint: still to come", moreStations: "{0} more stations are used less than these.", longestWait: "longest wait: {0}, {1} from {2}",
    noMessages: "No messages in this run", holds: "Now {0} has it;", waitFor: "{0} wait for it", forWhom: "{0} for {1}", more: "and {0} more",
    events: "Events", source: "Lines of the simulator that run", before: "Back", after: "Next", ofEvents: "event {0} of {1}", rankShort: "rank {0}", noLines: "No line of these files runs for this event alone.",
    event_waits: "waits {0}", event_waits_for: "waits for a message of rank {0}", event_waits_holder: "waits for {0}, which {1} has", event_begins: "begins:", event_ends: "ends:", event_arrives: "arrives", event_asks: "asks for {0}", event_granted: "gets {0}",
    helpsNote: "By how much the time changes when one thing is {0} % better", better: "{0} % better", forecast: "Forecast", instead: "In place of {0}, by", changeLittle: "{0} other changes move the time by less than 0.05 %.",
    trust: "Where the formula can be trusted", trusted: "within {0} %", tooLow: "formula too low", tooHigh: "formula too high", axes: "across: {0}, up: {1}", trustCount: "{0} of {1} points are within it. Click one to go there.",
    exam: "Exam, {0} minutes", code: "Your code", begin: "Begin", save: "Save", codeToSave: "Your name or code, for whoever grades your answers. It may stay empty.", codeNote: "The code that your teacher gave you, as s017. Numbers in questions depend on it.", codeWrong: "Letters, digits and . _ - please, up to 40.",
    codeIs: "Answers of {0}. Reload the page for another code.", points: "Points: {0}", within: "within {0} %", keep: "Keep", kept: "Kept. You can change it until you export your answers.", keptAs: "Kept: {0}.{1} You can change it until you export your answers.",
    understood: "Understood: {0}.", thousands: "The comma separates thousands.", twoWays: "“{0}” can be read in two ways. Which do you mean?",
    teacher: "For teachers", teacherNote: "Choose what students see, and write a page of your own. This one stays as it is.", tolerance: "Tolerance", question: "Question", starts: "Sliders begin at", write: "Write the page", cancel: "Cancel",
    effect_hops: "Hops", effect_links: "Links", effect_interfaces: "Interfaces", effect_node: "Inside nodes", effect_disks: "Disks", effect_memory: "Memory", effect_accelerators: "Accelerators", effect_storage: "Storage",
    effect_conflicts: "Conflicts", effect_caches: "Caches", effect_interference: "Interference", effect_matching: "Matching", effect_imbalance: "Imbalance", effect_noise: "Noise", effect_background: "Background", effect_failures: "Failures",
  },
  de: {
    ...CACHE.de, ...COURSE.de, ...LAB.de, ...TEACH.de,
    skip: "Zur Lektion springen", lesson: "Lektionen", minutes: "{0} Minuten", step: "Schritt {0}", steps: "Schritte der Lektion",
    objectives: "Danach können Sie", made: "Alle Zahlen hat simcodesign beim Erzeugen dieser Datei berechnet. Vorhersagen und Antworten werden nirgendwohin gesendet.",
    formula: "Formel", simulation: "Simulation", you: "Sie", measured: "Gemessen", theme: "Dunkel oder hell", export: "Antworten exportieren",
    waiting_rung: "Nachrichten, Reihenfolge, Warten", waiting_adds: "Nachrichten, die in der Formel fehlen, die Reihenfolge der Operationen und das Warten auf Nachrichten", off: "aus", plus: "+{0}", drawPoint: "Ihre Vorhersage bei {0}", compare: "Vergleichen", redraw: "Neu zeichnen",
    drawFirst: "Ziehen Sie über das Bild, oder nehmen Sie die Pfeiltasten.", locked: "Dieser Schritt öffnet sich, wenn Sie in einem früheren Ihre Vorhersage gezeichnet und verglichen haben.", openAnyway: "Alle Schritte öffnen", lockedAnswer: "Dieser Schritt öffnet sich, wenn Sie die Frage davor beantwortet haben.", openStep: "Diesen Schritt öffnen", slidersStay: "Die Regler lassen sich bewegen, wenn die Vorhersage verglichen ist.",
    switchedOff: "Ausgeschaltet: {0}", meanOf: "Mittel von {0} Läufen mit anderen Zufallszahlen", ownScale: "Die Bilder dieses Schritts haben eigene Skalen.",
    draws: "Ziehungen des Zufalls", drawOf: "Ziehung {0} von {1}", oneDraw: "eine Ziehung von {0}", drawBefore: "Ziehung davor", drawAfter: "Nächste Ziehung", drawAndMean: "Ein Lauf, der {0} dauert. Kurven und Leitern zeigen das Mittel von {1}: {2}.",
    offBy: "um ×{0} daneben", closerYou: "Ihr Stift war näher an der Simulation als die Formel.", closerFormula: "Die Formel war näher an der Simulation als Ihr Stift.",
    play: "Abspielen", pause: "Anhalten", next: "Nächstes Ereignis", time: "Zeit", speed: "Tempo", haveIt: "{0} von {1} Nachrichten sind angekommen", waitingNow: "{0} warten",
    carried: "Verbindung {0} → {1}", noWait: "{0} → {1} wartete nicht, darauf von {2} bis {3}", waited: "{0} → {1} wartete {2}, darauf von {3} bis {4}",
    links: "Verbindungen mit Warteschlangen", choose: "Verbindung wählen", noQueue: "In diesem Lauf wartet keine Nachricht auf eine Verbindung.", shown: "gezeigt: {0}", hollow: "Hohl: simuliert bei {0}, dem nächsten Halt",
    sends: "sendet", receives: "empfängt", waits: "wartet, bis es an der Reihe ist", path: "kritischer Pfad", formulaEnd: "Formel", rank: "Knoten {0}",
    check: "Prüfen", answer: "Ihre Antwort", hint: "Hinweis", right: "Richtig.", notYet: "Noch nicht.", number: "Bitte geben Sie eine Zahl ein, etwa 2279, 0,25 oder 3/2.", low: "Zu klein.", high: "Zu groß.",
    ladderNote: "Von der Formel zur Simulation, Effekt für Effekt; klicken Sie auf eine Zeile", gap: "gemessen ÷ Formel", gapSimulation: "gemessen ÷ Simulation", each: "jeder Schritt verdoppelt",
    quartiles: "Quartile", interval: "Balken: 95-%-Intervalle der Simulation, die zufälliges Rauschen hat", done: "fertig nach {0}", mode: "Zeigen", up: "Bis hierher: {0}", network: "Netz", bus: "der Bus",
    rows_ranks: "eine Zeile je Knoten", rows_rounds: "eine Zeile je Runde von Nachrichten", rows_stations: "eine Zeile je Station", works: "rechnet", disk: "liest oder schreibt", memory: "benutzt den Speicher", serves: "bedient", waitsThere: "jemand wartet dort", onTheWay: "Nachricht unterwegs",
    upperHalf: "obere Hälfte einer Zeile: was der Knoten tut, während eine Nachricht ankommt", future: "blass: kommt noch", moreStations: "{0} weitere Stationen werden weniger benutzt als diese.", longestWait: "längstes Warten: {0}, {1} ab {2}",
    noMessages: "Keine Nachrichten in diesem Lauf", holds: "Jetzt hat sie {0};", waitFor: "{0} warten darauf", forWhom: "{0} auf {1}", more: "und {0} weitere",
    events: "Ereignisse", source: "Zeilen des Simulators, die laufen", before: "Zurück", after: "Weiter", ofEvents: "Ereignis {0} von {1}", rankShort: "Rang {0}", noLines: "Für dieses Ereignis allein läuft keine Zeile dieser Dateien.",
    event_waits: "wartet {0}", event_waits_for: "wartet auf eine Nachricht von Rang {0}", event_waits_holder: "wartet auf {0}, die gerade {1} hat", event_begins: "beginnt:", event_ends: "endet:", event_arrives: "kommt an", event_asks: "fragt nach {0}", event_granted: "bekommt {0}",
    helpsNote: "Wie sich die Zeit ändert, wenn eines um {0} % besser ist", better: "{0} % besser", forecast: "Vorhersage", instead: "Anstelle von {0} durch", changeLittle: "{0} andere Änderungen bewegen die Zeit um weniger als 0,05 %.",
    trust: "Wo man der Formel trauen kann", trusted: "innerhalb von {0} %", tooLow: "Formel zu niedrig", tooHigh: "Formel zu hoch", axes: "nach rechts: {0}, nach oben: {1}", trustCount: "{0} von {1} Punkten liegen darin. Ein Klick führt hin.",
    exam: "Prüfung, {0} Minuten", code: "Ihr Code", begin: "Beginnen", save: "Speichern", codeToSave: "Ihr Name oder Code, für die Bewertung. Das Feld darf leer bleiben.", codeNote: "Der Code, den Ihnen die Lehrkraft gegeben hat, etwa s017. Zahlen in den Fragen hängen davon ab.", codeWrong: "Bitte Buchstaben, Ziffern und . _ -, höchstens 40.",
    codeIs: "Antworten von {0}. Für einen anderen Code laden Sie die Seite neu.", points: "Punkte: {0}", within: "auf {0} % genau", keep: "Merken", kept: "Gemerkt. Sie können es ändern, bis Sie die Antworten exportieren.", keptAs: "Gemerkt: {0}.{1} Sie können es ändern, bis Sie die Antworten exportieren.",
    understood: "Verstanden: {0}.", thousands: "Der Punkt trennt die Tausender.", twoWays: "„{0}“ lässt sich auf zwei Arten lesen. Was meinen Sie?",
    teacher: "Für Lehrende", teacherNote: "Wählen Sie, was Studierende sehen, und schreiben Sie eine eigene Seite. Diese bleibt, wie sie ist.", tolerance: "Toleranz", question: "Frage", starts: "Regler beginnen bei", write: "Seite schreiben", cancel: "Abbrechen",
    effect_hops: "Teilstrecken", effect_links: "Verbindungen", effect_interfaces: "Netzanschlüsse", effect_node: "Im Knoten", effect_disks: "Platten", effect_memory: "Speicher", effect_accelerators: "Beschleuniger", effect_storage: "Dateiserver",
    effect_conflicts: "Konflikte", effect_caches: "Caches", effect_interference: "Beeinträchtigung", effect_matching: "Suche in Warteschlangen", effect_imbalance: "Ungleichgewicht", effect_noise: "Rauschen", effect_background: "Fremdlast", effect_failures: "Ausfälle",
  },
};

let table = TEXTS.en;

export function useLanguage(language) {
  table = TEXTS[language] ?? TEXTS.en;
}

/** A text of the interface, with its blanks filled in. */
export function text(name, ...values) {
  return (table[name] ?? name).replace(/\{(\d)\}/g, (_, place) => values[place]);
}

/** An effect as the interface calls it; those of other packages by their own names. */
export function effectName(name) {
  return table[`effect_${name}`] ?? name.replaceAll("_", " ");
}

/** Fills all elements that name a text in data-text or data-text-label. */
export function fillTexts(root) {
  for (const one of root.querySelectorAll("[data-text]")) one.textContent = text(one.dataset.text, one.dataset.count ?? "");
  for (const one of root.querySelectorAll("[data-text-label]")) one.setAttribute("aria-label", text(one.dataset.textLabel));
}
