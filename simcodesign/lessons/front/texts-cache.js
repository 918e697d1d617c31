// Texts of the animation of a cache.

export const CACHE = {
  en: {
    cacheStride: "stride of the loop", cacheSize: "size of the cache", cacheAccess: "Access", cacheArray: "The array: {0} numbers, {1} in a line", cacheSlots: "The cache", cacheSet: "set {0}", cacheLine: "line {0}", cacheFree: "empty",
    cacheStart: "The cache is empty. The loop runs {0} times.", cacheHit: "Access {0} of {1}: number {2}, line {3}. Hit.", cacheLoad: "Access {0} of {1}: number {2}, line {3}. Miss: the line is loaded.",
    cacheEvict: "Access {0} of {1}: number {2}, line {3}. Miss: the line is loaded, and line {4} is evicted, which was used least recently.", cacheCount: "So far {0} hits and {1} misses.", cacheAll: "All {0} accesses as text: {1} hits, {2} misses",
    cacheMarkHit: "hit", cacheMarkLoaded: "loaded", cacheMarkEvicted: "evicted", cacheLines: "{0} ({1} lines)",
  },
  de: {
    cacheStride: "Schrittweite der Schleife", cacheSize: "Größe des Caches", cacheAccess: "Zugriff", cacheArray: "Das Feld: {0} Zahlen, {1} in einer Cachezeile", cacheSlots: "Der Cache", cacheSet: "Satz {0}", cacheLine: "Zeile {0}", cacheFree: "leer",
    cacheStart: "Der Cache ist leer. Die Schleife läuft {0}-mal.", cacheHit: "Zugriff {0} von {1}: Zahl {2}, Zeile {3}. Treffer.", cacheLoad: "Zugriff {0} von {1}: Zahl {2}, Zeile {3}. Fehlzugriff: Die Zeile wird geladen.",
    cacheEvict: "Zugriff {0} von {1}: Zahl {2}, Zeile {3}. Fehlzugriff: Die Zeile wird geladen und verdrängt Zeile {4}, die am längsten nicht benutzt wurde.", cacheCount: "Bisher {0} Treffer und {1} Fehlzugriffe.", cacheAll: "Alle {0} Zugriffe als Text: {1} Treffer, {2} Fehlzugriffe",
    cacheMarkHit: "Treffer", cacheMarkLoaded: "geladen", cacheMarkEvicted: "verdrängt", cacheLines: "{0} ({1} Zeilen)",
  },
};
