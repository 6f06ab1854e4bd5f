import { Type } from '@sinclair/typebox';
import { BATCH_FASTA_MAX_CHARACTERS, BATCH_MAX_QUERIES } from '../../limits.js';
import { closed, mutuallyExclusive, text } from '../grammar/schema.js';
import { ProteinQuery } from '../search/homology.js';
import { fileUrl } from '../storage/files.js';

/* Sources of the proteins of a run with many queries. */

const BatchQuery = closed({
  id: Type.Optional(text('Id of the query, chosen by the client.', { minLength: 1, maxLength: 256 })),
  sequence: ProteinQuery.properties.sequence,
});

/** Members of a request that give its proteins. Exactly one of them is present. */
export const QUERY_SOURCES = {
  queries: Type.Optional(
    Type.Array(BatchQuery, { minItems: 1, maxItems: BATCH_MAX_QUERIES, description: 'The queries.' }),
  ),
  fasta: Type.Optional(
    text(
      'Queries as FASTA. The id of a query is the accession of a UniProt header, otherwise the first ' +
        'word of the header. A database build reads ids of targets in the same way. An id has at most 256 ' +
        'characters and no control characters; the rest of the header may be longer.',
      {
        minLength: 1,
        maxLength: BATCH_FASTA_MAX_CHARACTERS,
      },
    ),
  ),
  fasta_url: Type.Optional(
    fileUrl('URL of an uploaded FASTA file, plain or gzip: member `url` of the completed upload.'),
  ),
};

/** Schema rule: exactly one of the sources is present. */
export const ONE_SOURCE = {
  ...mutuallyExclusive(['queries', 'fasta'], ['queries', 'fasta_url'], ['fasta', 'fasta_url']),
  anyOf: [{ required: ['queries'] }, { required: ['fasta'] }, { required: ['fasta_url'] }],
};
