/*
 * Splits a text into statements. The split is only lexical: the engine parses each piece and refuses a piece with more
 * than one statement.
 */

/** Text in which a semicolon does not end a statement: quoted text and names, dollar-quoted text, comments. */
const OPAQUE =
  /'(?:[^']|'')*'?|"(?:[^"]|"")*"?|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|\$([A-Za-z_]\w*)?\$[\s\S]*?(?:\$\1\$|$)|;/g;

/** Returns the statements of a text without empty ones. */
export function splitStatements(text: string): readonly string[] {
  const pieces: string[] = [];
  let start = 0;
  for (const { 0: opaque, index } of text.matchAll(OPAQUE)) {
    if (opaque !== ';') continue;
    pieces.push(text.slice(start, index));
    start = index + 1;
  }
  pieces.push(text.slice(start));
  return pieces.map((piece) => piece.trim()).filter((piece) => withoutComments(piece) !== '');
}

/** Removes leading comments. Quotes need no care, because only the beginning of the text is used. */
export function withoutComments(text: string): string {
  return text.replace(/^(?:\s+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?(?:\*\/|$))+/, '').trim();
}
