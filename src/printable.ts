/*
 * Text from outside that reaches a terminal, a table or a log: names of proteins, columns of tables, messages of other
 * servers. A control character in it could move the cursor, set the title of the window or hide text. A bidirectional
 * control could reorder the rest of the line.
 */

const REPLACEMENT = '\uFFFD';
/** Control characters, line and paragraph separators, and controls of the Unicode bidirectional algorithm. */
const UNPRINTABLE = /[\p{Cc}\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/gu;
const UNPRINTABLE_IN_LINES = /(?![\n\t])[\p{Cc}\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/gu;

/** The text as one line: each character that does not print itself becomes U+FFFD. The length stays. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, REPLACEMENT);
}

/** Like `printable`, for text of several lines: line feeds and tabs stay. */
export function printableLines(text: string): string {
  return text.replace(UNPRINTABLE_IN_LINES, REPLACEMENT);
}
