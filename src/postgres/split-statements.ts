/*
 * Splits a text into statements. The split is only lexical: the engine parses each piece and refuses a piece with more
 * than one statement.
 *
 * Source  PostgreSQL, "Lexical Structure", with standard_conforming_strings on
 */

/** Class of the characters that begin a name or the tag of dollar-quoted text. */
const LETTER = 'A-Za-z_\\u0080-\\uffff';

/**
 * Tokens in which a semicolon does not end a statement, or the beginning of such a token. Two quotes in quoted text
 * make two tokens without a gap, which end at the same place. Names are tokens, so that their last letter begins no
 * escaped text, and their `$` no dollar-quoted text.
 */
const TOKEN = new RegExp(
  [
    String.raw`[eE]'|'[^']*'?|"[^"]*"?|--[^\n\r]*|/\*`,
    String.raw`\$(?:[${LETTER}][${LETTER}\d]*)?\$|[${LETTER}][${LETTER}\d$]*|;`,
  ].join('|'),
  'g',
);

/** Returns the statements of a text without empty ones. Cost: linear in the length of the text */
export function splitStatements(text: string): readonly string[] {
  const pieces: string[] = [];
  let start = 0;
  const tokens = new RegExp(TOKEN);
  for (let match = tokens.exec(text); match !== null; match = tokens.exec(text)) {
    const { 0: token, index } = match;
    if (token === ';') {
      pieces.push(text.slice(start, index));
      start = tokens.lastIndex;
    } else if (token === '/*') tokens.lastIndex = endOfComment(text, index);
    else if (/^e'$/i.test(token)) tokens.lastIndex = endOfEscapedText(text, tokens.lastIndex);
    else if (token.startsWith('$')) tokens.lastIndex = endAfter(token, text, tokens.lastIndex);
  }
  pieces.push(text.slice(start));
  return pieces.map((piece) => piece.trim()).filter((piece) => withoutComments(piece) !== '');
}

/** Removes leading comments. Quotes need no care, because only the beginning of the text is used. */
export function withoutComments(text: string): string {
  let at = endOfBlanks(text, 0);
  while (text.startsWith('/*', at)) at = endOfBlanks(text, endOfComment(text, at));
  return text.slice(at).trim();
}

/** End of a block comment that begins at a place. Block comments nest. */
function endOfComment(text: string, start: number): number {
  const marks = /\/\*|\*\//g;
  marks.lastIndex = start;
  let depth = 0;
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    depth += mark[0] === '/*' ? 1 : -1;
    if (depth === 0) return marks.lastIndex;
  }
  return text.length;
}

/** End of `E'…'` whose content begins at a place. The text continues in quotes on a later line. */
function endOfEscapedText(text: string, start: number): number {
  const marks = /\\[^]?|''|'/g;
  marks.lastIndex = start;
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    if (mark[0] !== "'") continue;
    const quoteEnd = marks.lastIndex;
    const next = endOfBlanks(text, quoteEnd);
    if (text[next] !== "'" || !/[\n\r]/.test(text.slice(quoteEnd, next))) return quoteEnd;
    marks.lastIndex = next + 1;
  }
  return text.length;
}

/** End of white space and line comments from a place on. */
function endOfBlanks(text: string, start: number): number {
  const blanks = /\s+|--[^\n\r]*/y;
  let end = start;
  do {
    end = Math.max(end, blanks.lastIndex);
    blanks.lastIndex = end;
  } while (blanks.test(text));
  return end;
}

function endAfter(word: string, text: string, start: number): number {
  const index = text.indexOf(word, start);
  return index === -1 ? text.length : index + word.length;
}
