import { Type } from '@sinclair/typebox';
import { BATCH_FASTA_MAX_CHARACTERS, BATCH_MAX_QUERIES } from '../../limits.js';
import { closed, mutuallyExclusive, text } from '../grammar/schema.js';
import { ProteinQuery } from '../search/homology.js';
import { fileUrl } from '../storage/files.js';

/* Where runs of many proteins have them from. */

const BatchQuery = closed({
  id: Type.Optional(text('Your name of the query.', { minLength: 1, maxLength: 256 })),
  sequence: ProteinQuery.properties.sequence,
});

/** Members of a request that give its proteins; one of them is there. */
export const QUERY_SOURCES = {
  queries: Type.Optional(
    Type.Array(BatchQuery, { minItems: 1, maxItems: BATCH_MAX_QUERIES, description: 'The queries.' }),
  ),
  fasta: Type.Optional(
    text(
      'The queries as FASTA. The id of a query is the accession of a UniProt header, else the first word: as ids ' +
        'of targets are read when a database is built.',
      {
        minLength: 1,
        maxLength: BATCH_FASTA_MAX_CHARACTERS,
      },
    ),
  ),
  fasta_url: Type.Optional(
    fileUrl('The URL of an uploaded FASTA file, plain or gzip, as its completion gave it.'),
  ),
};

/** Exactly one of the sources is there. */
export const ONE_SOURCE = {
  ...mutuallyExclusive(['queries', 'fasta'], ['queries', 'fasta_url'], ['fasta', 'fasta_url']),
  anyOf: [{ required: ['queries'] }, { required: ['fasta'] }, { required: ['fasta_url'] }],
};
