/** What a header says about its protein; absent where it does not say it. */
export interface FastaHeader {
  readonly id: string;
  readonly description?: string;
  readonly name?: string;
  readonly entryName?: string;
  readonly organism?: string;
  /** NCBI taxonomy id. */
  readonly taxid?: number;
  readonly gene?: string;
  /** Reviewed by a curator: `sp|` (Swiss-Prot) is, `tr|` (TrEMBL) is not. */
  readonly reviewed?: boolean;
}

const UNIPROT = /^(sp|tr)\|([A-Z0-9]+(?:-\d+)?)\|(\S+)(?:\s+(.*))?$/;
const UNIPROT_FIELD = /(?:^| )(OS|OX|GN|PE|SV)=(.*?)(?= (?:OS|OX|GN|PE|SV)=|$)/g;

/**
 * Reads a UniProt header into its parts (id = accession); of any other header the first word is the id and
 * the rest the description.
 * Source  https://www.uniprot.org/help/fasta-headers
 */
export function parseFastaHeader(header: string): FastaHeader {
  const match = UNIPROT.exec(header);
  if (match === null) {
    const [id = ''] = header.split(/\s+/, 1);
    return { id, ...present('description', header.slice(id.length).trim()) };
  }
  const [, review, accession = '', entryName = '', about = ''] = match;
  const fields = new Map(
    [...about.matchAll(UNIPROT_FIELD)].map(([, key, value]) => [key, (value ?? '').trim()]),
  );
  const name = about.replace(/(?:^| )(?:OS|OX|GN|PE|SV)=.*$/, '').trim();
  return {
    id: accession,
    ...present('name', name),
    entryName,
    ...present('organism', fields.get('OS')),
    ...(/^\d{1,9}$/.test(fields.get('OX') ?? '') ? { taxid: Number(fields.get('OX')) } : {}),
    ...present('gene', fields.get('GN')),
    reviewed: review === 'sp',
  };
}

function present<Key extends string>(key: Key, value: string | undefined): Partial<Record<Key, string>> {
  return value === undefined || value === '' ? {} : ({ [key]: value } as Record<Key, string>);
}
