// Words that Python writes into a page (stations, operations, algorithms, what would help) in the language of the interface.

/** In German, phrase by phrase; in each word of what Python writes, the longest phrase that is here. */
const GERMAN = {
  // stations
  "link to accelerator": "Verbindung zum Beschleuniger", "link from accelerator": "Verbindung vom Beschleuniger", "memory link": "Speicherverbindung",
  "storage server": "Dateiserver", "metadata server": "Metadatenserver", link: "Verbindung", injection: "Einspeisung", ejection: "Ausgabe", interface: "Netzanschluss",
  disk: "Platte", "memory of messages": "Speicher der Nachrichten", memory: "Speicher", accelerator: "Beschleuniger", processor: "Prozessor", mailbox: "Postfach", host: "Knoten", switch: "Switch", rail: "Strang", bus: "Bus",
  // operations
  "copy to accelerator": "Kopie zum Beschleuniger", "copy to host": "Kopie vom Beschleuniger", "read of storage": "Lesen vom Dateiserver", "write of storage": "Schreiben zum Dateiserver",
  compute: "Rechnung", send: "Senden", receive: "Empfang", read: "Lesen", write: "Schreiben", wait: "Warten", kernel: "Kernel", held: "Annahme", metadata: "Metadaten",
  // what would help
  "rate of the processors": "Rechenrate der Prozessoren", "clock of the processors": "Takt der Prozessoren", "startup of messages": "Startzeit der Nachrichten", "bandwidth of messages": "Bandbreite der Nachrichten",
  "overhead of a receive": "Aufwand eines Empfangs", "latency of a hop": "Latenz einer Teilstrecke", "startup of reads": "Startzeit beim Lesen", "startup of writes": "Startzeit beim Schreiben",
  "bandwidth of a disk": "Bandbreite einer Platte", "latency of the memory": "Latenz des Speichers", "bandwidth of the memory": "Bandbreite des Speichers",
  "messages, links and interfaces": "Nachrichten, Verbindungen und Netzanschlüsse", "bandwidth of links of dimension": "Bandbreite der Verbindungen in Richtung", "latency of links of dimension": "Latenz der Verbindungen in Richtung",
  "bandwidth of links of": "Bandbreite der Verbindungen:", "latency of links of": "Latenz der Verbindungen:", "bandwidth of links alone": "Bandbreite der Verbindungen allein", "bandwidth of interfaces alone": "Bandbreite der Netzanschlüsse allein",
  "messages within nodes": "Nachrichten innerhalb von Knoten", "messages between sockets": "Nachrichten zwischen Sockeln", larger: "größer", "as a whole": "im Ganzen",
  // collective operations and their algorithms
  "all broadcast": "Rundsenden aller", "all to all": "Alle an alle", allgather: "Sammeln bei allen", allreduce: "Reduktion bei allen", barrier: "Barriere", broadcast: "Rundsenden", gather: "Sammeln", "reduce scatter": "Reduktion und Verteilen",
  reduce: "Reduktion", scan: "Präfixsummen", scatter: "Verteilen", iterate: "Iteration",
  "split binary tree": "geteilter Binärbaum", "interleaved binary tree": "verschränkter Binärbaum", "binary tree": "Binärbaum", "binomial near": "Binomialbaum, Nachbarn zuerst", "binomial far": "Binomialbaum, Ferne zuerst", binomial: "Binomialbaum", bruck: "nach Bruck", chain: "Kette", dissemination: "Ausbreitung", "four chains": "vier Ketten", "three chains": "drei Ketten",
  "linear synchronised": "der Reihe nach auf Anfrage", linear: "der Reihe nach", "neighbour exchange": "Austausch mit Nachbarn", bine: "Bine-Baum", pairwise: "paarweise", rabenseifner: "nach Rabenseifner", "recursive doubling": "rekursives Verdoppeln", "recursive halving": "rekursives Halbieren",
  "reduce broadcast": "Reduktion und Rundsenden", "ring channels": "Ringe in Kanälen", ring: "Ring", "double tree": "Doppelbaum", "hierarchical chunks": "hierarchisch in Stücken", hierarchical: "hierarchisch", "scatter allgather": "Verteilen und Sammeln", "two level": "zweistufig", "in switch": "im Switch",
  // sentences on what limits a run
  "The critical path is": "Der kritische Pfad besteht zu", communication: "aus Kommunikation", computation: "aus Rechnung", "Nothing waits for any station.": "Niemand wartet auf eine Station.",
  "All waiting is for stations of the kind": "Alles Warten gilt Stationen der Art", "of all waiting is for stations of the kind": "des Wartens gilt Stationen der Art", "less than": "weniger als",
  "of all requests together. The busiest of them": "aller Anfragen zusammen. Die meistbenutzte", "is in use": "ist zu", "of the time": "der Zeit belegt",
};

const phrases = Object.keys(GERMAN).sort((one, other) => other.length - one.length).map((phrase) => phrase.replace(/[.]/g, "\\."));
const PATTERN = new RegExp(`(?<![\\w])(${phrases.join("|")})(?![\\w])`, "gi");
const BY_PHRASE = new Map(Object.entries(GERMAN).map(([phrase, word]) => [phrase.toLowerCase(), word]));

let isGerman = false;

export function termsIn(language) {
  isGerman = language === "de";
}

/** What Python has written, as the interface says it. */
export function term(words) {
  if (!isGerman) return words;
  const german = words.replace(PATTERN, (phrase) => BY_PHRASE.get(phrase.toLowerCase()));
  return german.replace(/(?<=\d)[.,](?=\d)(?![^(]*\))/g, (mark) => (mark === "." ? "," : ".")).replace(/(\d)%/g, "$1\u00a0%");
}
