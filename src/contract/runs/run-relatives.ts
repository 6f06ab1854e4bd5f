import { Type, type Static } from '@sinclair/typebox';
import { MSA_MAX_ROUNDS, RETAINED_MAX_CANDIDATES } from '../../limits.js';
import {
  closed,
  constant,
  count,
  defaulted,
  mutuallyExclusive,
  named,
  quantity,
  ratio,
  text,
} from '../grammar/schema.js';
import { Warning } from '../grammar/envelope.js';
import { HomologyCandidateSet } from '../search/candidate-set.js';
import { ProteinQuery, SEARCH_SETTINGS } from '../search/homology.js';

/* Runs that compute the homologs of a query. */

export const RelativesRunInput = named(
  'RelativesRunInput',
  closed(
    {
      query: ProteinQuery,
      database: SEARCH_SETTINGS.database,
      database_release_id: SEARCH_SETTINGS.database_release_id,
      limit: defaulted(
        1000,
        Type.Integer({
          minimum: 1,
          maximum: RETAINED_MAX_CANDIDATES,
          description: 'Hits that each round of the search looks at.',
        }),
      ),
      rounds: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: MSA_MAX_ROUNDS,
          description:
            'Searches of the release itself, each with the profile of the hits before it. With two or more, its ' +
            'proteins with an E-value of at most 0.001 are relatives, too. Default: 1.',
        }),
      ),
      homolog_source: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 256,
          description:
            'Homolog source of the server, whose sequences are relatives, too. mmseqs searches it.',
        }),
      ),
    },
    {
      description:
        'One protein, and a release whose targets have relatives: what it is given in a search is looked for in the ' +
        'same background by the same rules, and kept with near copies and however much there is. With `rounds` of ' +
        'two or more, or with `homolog_source`, any release serves.',
      ...mutuallyExclusive(['database', 'database_release_id']),
    },
  ),
);

export const ProteinRelative = named(
  'ProteinRelative',
  closed(
    {
      id: text('Id of the relative in the background, or in the release.'),
      expected_false_hits: quantity('E-value of the search of the background that found it.', { minimum: 0 }),
      round: count('Round of that search which found it first.', { minimum: 1 }),
      query_coverage_ratio: ratio('Aligned stretch of the query ÷ its length.'),
      sequence_identity_ratio: ratio('Identical residues ÷ columns of the alignment, gaps included.'),
      cigar: text('Extended CIGAR (`=`, `X`, `I`, `D`), seen from the query.'),
      query_start: count('Position of the first aligned query residue; the first residue of all is 0.'),
      query_end: count('Position after the last aligned query residue.'),
      target_start: count('Position of the first aligned residue of the relative.'),
      target_end: count('Position after its last aligned residue.'),
      target_length: count('Residues of the relative.'),
      residues: text('Residues of the relative from `target_start` to `target_end`.'),
    },
    { description: 'A relative as the search of the background aligned it; the nearest come first.' },
  ),
);

export const RelativesRunSummary = named(
  'RelativesRunSummary',
  closed(
    {
      object: constant('protein_relatives_summary'),
      database: closed({
        id: text('Database id.'),
        release_id: text('Release whose targets have relatives.'),
        slug: text('Name of the database.'),
      }),
      query: HomologyCandidateSet.properties.query,
      warnings: Type.Array(Warning),
    },
    { chosen: true },
  ),
);

export type RelativesRunInput = Static<typeof RelativesRunInput>;
export type RelativesRunSummary = Static<typeof RelativesRunSummary>;
export type ProteinRelative = Static<typeof ProteinRelative>;
