// How a text is shown: with names for what cannot be seen, or changes how the text around it looks.
//
// The tables and limits are those of the window. The server puts them in.

const FOUND = /( {@MOST_BLANKS@,}|\t{@MOST_TABS@,})|(?:@HIDING@)/gu;
const FOUND_IN_CONTENT = /(?!@SHAPING@)(?:@HIDING@)/gu;
const MOST_CHARS = @MOST_SHOWN_CHARS@;

function nameOf(sign) {
  const code = sign.codePointAt(0);
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return "␡";
  if (code >= 0xdc80 && code <= 0xdcff) return `\\x${(code - 0xdc00).toString(16).padStart(2, "0")}`;
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

const isLayout = (sign) => sign === "\n" || sign === "\t";

// A text by which the user decides: a command, a name, a reason. Of one that is too long, the end is left out.
export function named(text) {
  const signs = isLong(text) ? [...text] : null;
  const head = signs ? signs.slice(0, MOST_CHARS).join("") : text;
  const shown = head.replace(FOUND, (sign, blanks) => {
    if (blanks !== undefined) return `·${blanks.length} ${blanks[0] === " " ? "spaces" : "tabs"}·`;
    return isLayout(sign) ? sign : nameOf(sign);
  });
  return signs ? `${shown}·What follows these ${MOST_CHARS.toLocaleString("en")} characters is not shown·` : shown;
}

// A text written to be read, such as the lines of a file. What shapes emoji and separates words of Chinese and Japanese may stay.
export const namedInContent = (text) => text.replace(FOUND_IN_CONTENT, (sign) => (isLayout(sign) ? sign : nameOf(sign)));

// A message of the conversation, by which nothing is decided: no-break spaces belong into prose.
export const namedInProse = (text) => text.split(/([\u00a0\u202f])/).map((part, index) => (index % 2 ? part : namedInContent(part))).join("");

export const isLong = (text) => text.length > MOST_CHARS && [...text].length > MOST_CHARS;
