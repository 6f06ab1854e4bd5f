/*
 * Where statements end in a text of several. Only the cut is made here: the engine parses each piece, and takes none
 * that is more than one statement.
 */

/** What a semicolon means nothing in: quoted text, quoted names, dollar-quoted text and comments. */
const OPAQUE =
  /'(?:[^']|'')*'?|"(?:[^"]|"")*"?|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|\$([A-Za-z_]\w*)?\$[\s\S]*?(?:\$\1\$|$)|;/g;

/** Statements of a text, without the empty ones. */
export function splitStatements(text: string): readonly string[] {
  const pieces: string[] = [];
  let start = 0;
  for (const { 0: found, index } of text.matchAll(OPAQUE)) {
    if (found !== ';') continue;
    pieces.push(text.slice(start, index));
    start = index + 1;
  }
  pieces.push(text.slice(start));
  return pieces.map((piece) => piece.trim()).filter((piece) => withoutComments(piece) !== '');
}

/** The text as far as it says anything; quotes hide nothing here, since only the beginning is looked at. */
export function withoutComments(text: string): string {
  return text.replace(/^(?:\s+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?(?:\*\/|$))+/, '').trim();
}
