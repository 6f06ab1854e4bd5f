/*
 * Splits a text of several statements. This is not a parser: the engine parses each piece and refuses a piece with more
 * than one statement.
 */

/** Matches a semicolon, or a token in which a semicolon has no meaning: quoted text or names, and comments. */
const OPAQUE =
  /'(?:[^']|'')*'?|"(?:[^"]|"")*"?|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|\$([A-Za-z_]\w*)?\$[\s\S]*?(?:\$\1\$|$)|;/g;

/** Returns the statements of a text without empty ones. */
export function splitStatements(text: string): readonly string[] {
  const pieces: string[] = [];
  let start = 0;
  for (const { 0: token, index } of text.matchAll(OPAQUE)) {
    if (token !== ';') continue;
    pieces.push(text.slice(start, index));
    start = index + 1;
  }
  pieces.push(text.slice(start));
  return pieces.map((piece) => piece.trim()).filter((piece) => withoutComments(piece) !== '');
}

/** Removes blanks and comments at the beginning of a text. */
export function withoutComments(text: string): string {
  return text.replace(/^(?:\s+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?(?:\*\/|$))+/, '').trim();
}
