/** One protein as it was pasted. */
export interface Pasted {
  readonly id: string;
  readonly description: string;
  readonly sequence: string;
}

/** Records of a FASTA text, or the one bare sequence that it is; blanks and line ends are left out. */
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

/** What is wrong with it that the page can say at once; the server says the rest. */
export function problemOf({ id, sequence }: Pasted): string | undefined {
  if (sequence === '') return `${id} has no sequence.`;
  const odd = /[^A-Z]/.exec(sequence);
  if (odd !== null) return `${id}: "${odd[0]}" at position ${odd.index + 1} is no letter of a protein.`;
  if (sequence.length >= 30 && /^[ACGTUN]+$/.test(sequence)) {
    return `${id} looks like DNA or RNA. Paste the protein that it encodes.`;
  }
  return undefined;
}

/** A protein accession rather than a sequence: one word that has a digit. */
export function looksLikeName(text: string): boolean {
  const trimmed = text.trim();
  return /^[\w.|:-]{3,64}$/.test(trimmed) && /\d/.test(trimmed);
}
