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

/* Runs that list the homologs of a query. The member and schema names keep the published word "relatives". */

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
          description: 'Maximum number of hits that each round of a search considers.',
        }),
      ),
      rounds: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: MSA_MAX_ROUNDS,
          description:
            'Number of searches in the release itself. Each search after the first uses the profile of the ' +
            'hits of the previous search. With two or more, proteins of the release with an E-value of at ' +
            'most 0.001 are also homologs. A value of two or more requires a release with E-values. Default: ' +
            '1.',
        }),
      ),
      homolog_source: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 256,
          description:
            'Name of a homolog source on the server, which mmseqs searches. Its sequences with an E-value of ' +
            'at most 0.001 are also homologs.',
        }),
      ),
    },
    {
      description:
        'One protein and a release with homologs. The run finds the homologs of the protein as a search ' +
        'does: in the homolog source of the release, by the same rules. Near copies are kept, and the ' +
        'limits on the number of homologs in a profile do not apply. With `rounds` of two or more, or ' +
        'with `homolog_source`, the release needs no homologs of its own.',
      ...mutuallyExclusive(['database', 'database_release_id']),
    },
  ),
);

export const ProteinRelative = named(
  'ProteinRelative',
  closed(
    {
      id: text('Id of the homolog in its homolog source, or in the release.'),
      expected_false_hits: quantity('E-value of the homolog in the search that found it.', { minimum: 0 }),
      round: count('Number of the search round that first found the homolog.', { minimum: 1 }),
      query_coverage_ratio: ratio(
        'Query coverage: length of the aligned stretch of the query ÷ length of the query.',
      ),
      sequence_identity_ratio: ratio('Identical residues ÷ columns of the alignment, gaps included.'),
      cigar: text(
        'Extended CIGAR of the alignment: `=`, `X`, `I` (residue of the query beside a gap) and `D` ' +
          '(residue of the homolog beside a gap).',
      ),
      query_start: count('Zero-based position of the first aligned residue of the query.'),
      query_end: count('Zero-based position after the last aligned residue of the query.'),
      target_start: count('Zero-based position of the first aligned residue of the homolog.'),
      target_end: count('Zero-based position after the last aligned residue of the homolog.'),
      target_length: count('Length of the homolog in residues.'),
      residues: text('Residues of the homolog from `target_start` to `target_end`.'),
    },
    { description: 'A homolog of the query and its alignment. Homologs are in ascending order of E-value.' },
  ),
);

export const RelativesRunSummary = named(
  'RelativesRunSummary',
  closed(
    {
      object: constant('protein_relatives_summary'),
      database: closed({
        id: text('Database id.'),
        release_id: text('Id of the release.'),
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
