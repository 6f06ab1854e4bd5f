/** One protein of the pasted text. */
export interface Pasted {
  readonly id: string;
  readonly description: string;
  readonly sequence: string;
}

/** Parses FASTA, or one bare sequence. Blanks and line ends are dropped. */
export function readPasted(text: string): readonly Pasted[] {
  const trimmed = text.trim();
  if (trimmed === '') return [];
  const records = trimmed.startsWith('>') ? trimmed.slice(1).split(/\r?\n>/) : [`query\n${trimmed}`];
  return records.map((record, index) => {
    const end = record.search(/\r?\n/);
    const header = (end === -1 ? record : record.slice(0, end)).trim();
    const [id = '', ...words] = header.split(/\s+/);
    const sequence = end === -1 ? '' : record.slice(end).replaceAll(/[\s*]/g, '').toUpperCase();
    return { id: id === '' ? `query_${index + 1}` : id, description: words.join(' '), sequence };
  });
}

/** Returns a problem that the page can detect without the server; undefined for none. The server validates the rest. */
export function problemOf({ id, sequence }: Pasted): string | undefined {
  if (sequence === '') return `${id} has no sequence.`;
  const odd = /[^A-Z]/.exec(sequence);
  if (odd !== null) return `${id}: "${odd[0]}" at position ${odd.index + 1} is not a residue letter.`;
  if (sequence.length >= 30 && /^[ACGTUN]+$/.test(sequence)) {
    return `${id} looks like DNA or RNA. Paste the protein that it encodes.`;
  }
  return undefined;
}

/** Returns whether the text looks like a protein accession: one word that contains a digit. */
export function looksLikeName(text: string): boolean {
  const trimmed = text.trim();
  return /^[\w.|:-]{3,64}$/.test(trimmed) && /\d/.test(trimmed);
}
