import { readFasta } from '../../../sequence/fasta.js';
import { parseFastaHeader } from '../../../sequence/fasta-header.js';
import { optionalFields } from '../protein-source.js';
import type { ProteinFormat } from './protein-format.js';

/** FASTA. Attributes come from headers in the form of UniProt, UniRef or NCBI (sequence/fasta-header.ts). */
export const FASTA: ProteinFormat = {
  name: 'fasta',
  title: 'FASTA',
  isRecognised: (head) => /^\s*>/.test(head),
  fields: optionalFields([
    { name: 'description', type: 'string' },
    { name: 'name', type: 'string' },
    { name: 'entry_name', type: 'string' },
    { name: 'organism', type: 'string' },
    { name: 'taxid', type: 'integer' },
    { name: 'gene', type: 'string' },
    { name: 'reviewed', type: 'boolean' },
    { name: 'member_count', type: 'integer' },
    { name: 'representative', type: 'string' },
    { name: 'accessions', type: 'string_list' },
    { name: 'organisms', type: 'string_list' },
  ]),
  async *read(input) {
    for await (const record of readFasta(input)) {
      const { id, entryName, memberCount, ...rest } = parseFastaHeader(record.header);
      const attributes = {
        ...rest,
        ...(entryName === undefined ? {} : { entry_name: entryName }),
        ...(memberCount === undefined ? {} : { member_count: memberCount }),
      };
      yield { id, text: record.text, attributes, record };
    }
  },
};
