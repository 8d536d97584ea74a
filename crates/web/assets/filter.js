// Filters of lists: words that are looked for loosely, and tokens such as `server:notes`.

// `server:notes status:failed ms:>500 word` as tokens and words; `names` are the tokens a view knows.
export function parseFilter(text, names) {
  const tokens = [], words = [];
  for (const part of text.toLowerCase().split(/\s+/).filter(Boolean)) {
    const cut = part.indexOf(":");
    if (cut > 0 && names.includes(part.slice(0, cut))) {
      if (cut < part.length - 1) tokens.push([part.slice(0, cut), part.slice(cut + 1)]);
    } else words.push(part);
  }
  return {tokens, words};
}

// A token's value against a field: text contains it, a number compares with `>`, `<` or equals.
export function tokenFits(wanted, actual) {
  const compare = /^([<>]=?)(\d+(?:\.\d+)?)$/.exec(wanted);
  if (compare) {
    const number = Number(actual), limit = Number(compare[2]);
    if (actual == null || Number.isNaN(number)) return false;
    return compare[1] === ">" ? number > limit : compare[1] === "<" ? number < limit : compare[1] === ">=" ? number >= limit : number <= limit;
  }
  return String(actual ?? "").toLowerCase().includes(wanted);
}

// How well a word fits a text; 0 if it does not. The whole word in one piece counts most, at the
// beginning of a name more; otherwise its letters in order.
export function fit(word, text) {
  const found = text.indexOf(word);
  if (found >= 0) return 1000 - Math.min(found, 400) + (found === 0 || /[\s_\-./:]/.test(text[found - 1]) ? 300 : 0);
  let at = -1, gaps = 0;
  for (const letter of word) {
    const next = text.indexOf(letter, at + 1);
    if (next < 0) return 0;
    if (at >= 0) gaps += next - at - 1;
    at = next;
  }
  return gaps > word.length * 4 ? 0 : Math.max(1, 400 - gaps * 10);
}

// The items that fit, best first where words are given. `haystack(item)` is lower case: what the
// letters may be spread over is only its first line.
export function filterItems(items, filter, haystack, field) {
  const {tokens, words} = filter;
  if (!tokens.length && !words.length) return items;
  const scored = [];
  items.forEach((item, index) => {
    for (const [name, wanted] of tokens) if (!tokenFits(wanted, field(item, name))) return;
    let score = 0;
    for (const word of words) {
      const [name, rest] = haystack(item);
      const one = fit(word, name) || (rest && rest.includes(word) ? 100 : 0);
      if (!one) return;
      score += one;
    }
    scored.push([score, index, item]);
  });
  if (words.length) scored.sort((a, b) => b[0] - a[0] || a[1] - b[1]);
  return scored.map((entry) => entry[2]);
}
