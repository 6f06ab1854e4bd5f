import { FASTA_SEQUENCE_MAX_BYTES } from '../../../../limits.js';

/** Returns an item of a row by name; undefined for ".", "?" and missing items. */
export type CifRow = (item: string) => string | undefined;

/** Parses a CIF file line by line and reports the rows of its categories. */
export interface CifReader {
  line(text: string): void;
  /** Must be called after the last line. */
  end(): void;
}

/**
 * Errors  none here; the reader throws RangeError for a line, text, category or loop beyond its limit, for a text
 *         without an end, and for a row of a loop with too few values
 */
export function createCifReader(onRow: (category: string, row: CifRow) => void): CifReader {
  let text: string | undefined;
  let loop: OpenLoop | undefined;
  /** Items outside loops. Consecutive items of one category form one row. */
  let single: { category: string; items: Map<string, string> } | undefined;
  let pending: string | undefined;

  const closeSingle = (): void => {
    if (single !== undefined) {
      const { category, items } = single;
      onRow(category, (item) => items.get(item));
    }
    single = undefined;
  };
  const closeLoop = (): void => {
    const { values, items, category } = loop ?? { values: [], items: new Map(), category: '' };
    if (values.length > 0) {
      throw new RangeError(`the last row of ${category} has ${values.length} of ${items.size} values`);
    }
    loop = undefined;
  };
  const take = (token: string, isBare: boolean): void => {
    if (isBare && /^(loop_|data_|save_|global_|stop_)/i.test(token)) {
      closeSingle();
      closeLoop();
      pending = undefined;
      if (/^loop_/i.test(token)) loop = { items: new Map(), values: [], category: '' };
    } else if (isBare && token.startsWith('_')) {
      if (loop !== undefined && !loop.hasRows) nameColumn(loop, token);
      else {
        closeLoop();
        pending = token;
      }
    } else if (loop !== undefined) takeCell(loop, token, isBare, onRow);
    else if (pending !== undefined) {
      const [category, item] = partsOf(pending);
      if (single?.category !== category) closeSingle();
      single ??= { category, items: new Map() };
      if (single.items.size > MAX_COLUMNS) throw new RangeError('a category has too many items');
      if (!isMissing(token, isBare)) single.items.set(item, token);
      pending = undefined;
    }
  };
  return {
    line(line) {
      if (text !== undefined && !line.startsWith(';')) {
        text += `\n${line}`;
        if (text.length > FASTA_SEQUENCE_MAX_BYTES) throw new RangeError('a text is too long');
      } else if (text !== undefined) {
        const whole = text;
        text = undefined;
        take(whole, false);
        takeTokens(line.slice(1), take);
      } else if (line.startsWith(';')) text = line.slice(1);
      else if (line.length > LINE_MAX_CHARACTERS) throw new RangeError('the line is too long');
      else takeTokens(line, take);
    },
    end() {
      if (text !== undefined) throw new RangeError('the file ends inside a text block');
      closeSingle();
      closeLoop();
    },
  };
}

interface OpenLoop {
  category: string;
  /** Index of each item in a row. */
  readonly items: Map<string, number>;
  values: (string | undefined)[];
  hasRows?: boolean;
}

const MAX_COLUMNS = 1_000;
/** CIF allows lines of 2,048 characters; longer values are multi-line texts. */
const LINE_MAX_CHARACTERS = 16_384;
/** Blanks, then a comment, a quoted text before a blank or the end of the line, or a bare word. */
const TOKEN = /\s*(?:(#.*$)|'((?:[^']|'(?!\s|$))*)'(?=\s|$)|"((?:[^"]|"(?!\s|$))*)"(?=\s|$)|(\S+))/y;

function takeTokens(line: string, take: (token: string, isBare: boolean) => void): void {
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(line); match !== null; match = TOKEN.exec(line)) {
    const [, comment, apostrophes, quotes, bare] = match;
    if (comment !== undefined) return;
    if (/^['"]/.test(bare ?? '')) throw new RangeError('a quoted text does not end on its line');
    take(apostrophes ?? quotes ?? bare, bare !== undefined);
  }
}

function nameColumn(loop: OpenLoop, name: string): void {
  const [category, item] = partsOf(name);
  loop.category ||= category;
  loop.items.set(item, loop.items.size);
  if (loop.items.size > MAX_COLUMNS) throw new RangeError('a loop has too many columns');
}

function takeCell(
  loop: OpenLoop,
  token: string,
  isBare: boolean,
  onRow: (category: string, row: CifRow) => void,
): void {
  loop.hasRows = true;
  loop.values.push(isMissing(token, isBare) ? undefined : token);
  if (loop.values.length < loop.items.size) return;
  const { items, values, category } = loop;
  loop.values = [];
  onRow(category, (item) => values[items.get(item) ?? -1]);
}

function isMissing(token: string, isBare: boolean): boolean {
  return isBare && (token === '.' || token === '?');
}

/** `_atom_site.id` → `atom_site`, `id` */
function partsOf(name: string): readonly [string, string] {
  const [category, item = ''] = name.slice(1).split('.', 2);
  return [category.toLowerCase(), item];
}
