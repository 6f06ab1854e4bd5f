import { Type } from '@sinclair/typebox';
import { BATCH_FASTA_MAX_CHARACTERS, BATCH_MAX_QUERIES } from '../../limits.js';
import { closed, mutuallyExclusive, text } from '../grammar/schema.js';
import { ProteinQuery } from '../search/homology.js';
import { fileUrl } from '../storage/files.js';

/* Sources of the proteins of a run with many queries. */

/** The characters that `printable` replaces. They would end a row of a table, or act on a terminal. */
const PRINTABLE = '^[^\\u0000-\\u001F\\u007F-\\u009F\\u061C\\u200E\\u200F\\u2028-\\u202E\\u2066-\\u2069]*$';

const BatchQuery = closed({
  id: Type.Optional(
    text('Id of the query, chosen by the client, without control characters.', {
      minLength: 1,
      maxLength: 256,
      pattern: PRINTABLE,
    }),
  ),
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
