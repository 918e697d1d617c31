/* Order of search results: pages whose words (search_words.yaml) are in the query come first, lists of the reference last. */
var Scorer = {
  score: ([page, title, anchor, descr, score, filename, kind]) => {
    const query = new URLSearchParams(window.location.search).get("q") || "";
    const asked = query.toLowerCase().split(/[^\w-]+/).filter((word) => word.length > 2);
    const known = (SEARCH_WORDS[page] || "").split(" ");
    const stem = (word) => word.replace(/(ing|s|e)$/, "");
    const found = asked.filter((word) => known.some((one) => stem(one) === stem(word)));
    if (kind === "object" || anchor) return score + 10 * (asked.length === 1);
    const listed = page.startsWith("reference/json") || page.startsWith("drawn/");
    return score + (50 * found.length) / Math.max(asked.length, 1) - 5 * listed;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 5, 1: 0, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
