import { Type, type Static } from '@sinclair/typebox';
import {
  ANNOTATION_EXPECTED_FALSE_HITS,
  ANNOTATION_MAX_ROUNDS,
  RETAINED_MAX_CANDIDATES,
} from '../../limits.js';
import { closed, constant, count, defaulted, named, quantity, sha256, text } from '../grammar/schema.js';
import { HomologyCandidateSet } from '../search/candidate-set.js';
import { ONE_SELECTOR, SEARCH_SETTINGS } from '../search/homology.js';
import { ONE_SOURCE, QUERY_SOURCES } from './run-queries.js';

/* Runs that find the domains of proteins in a release whose targets are families. */

export const AnnotateRunInput = named(
  'AnnotateRunInput',
  closed(
    {
      ...QUERY_SOURCES,
      database: SEARCH_SETTINGS.database,
      database_release_id: SEARCH_SETTINGS.database_release_id,
      filter: SEARCH_SETTINGS.filter,
      target_space_id: SEARCH_SETTINGS.target_space_id,
      guarantee: SEARCH_SETTINGS.guarantee,
      maximum_expected_false_hits: defaulted(
        ANNOTATION_EXPECTED_FALSE_HITS,
        Type.Number({ exclusiveMinimum: 0, maximum: 1e6, description: 'Largest E-value of a domain.' }),
      ),
      rounds: defaulted(
        4,
        Type.Integer({
          minimum: 1,
          maximum: ANNOTATION_MAX_ROUNDS,
          description:
            'Maximum number of searches for each protein. Later searches use only the stretches of at least ' +
            '30 residues without a domain.',
        }),
      ),
      limit: defaulted(
        100,
        Type.Integer({
          minimum: 1,
          maximum: RETAINED_MAX_CANDIDATES,
          description: 'Number of nearest families that are compared in full with each protein.',
        }),
      ),
    },
    {
      description:
        'Up to 100,000 proteins in exactly one of `queries`, `fasta` and `fasta_url`. The release must ' +
        'have families or domains as targets, and E-values.',
      allOf: [...ONE_SELECTOR.allOf, ...ONE_SOURCE.allOf],
      anyOf: ONE_SOURCE.anyOf,
      chosen: true,
    },
  ),
);

const Family = closed(
  {
    id: text(
      'Id of the family: the attribute `family_id` of the target if it has one, otherwise the id of the ' +
        'target.',
    ),
    name: text('Name of the family. The id of the family if it has no name.'),
    accession: Type.Optional(text('Accession of the family.')),
    description: Type.Optional(text('Description of the family.')),
    clan: Type.Optional(text('Clan of the family.')),
    type: Type.Optional(text('Type of the family, such as Domain or Repeat.')),
    length: count('Length of the consensus in residues, or of the member that stands for the family.', {
      minimum: 1,
    }),
  },
  { description: 'Family, as the attributes of its target describe it.' },
);

const AnnotatedDomain = closed(
  {
    family: Family,
    start: count('Zero-based position of the first residue of the domain in the protein.'),
    end: count('Zero-based position after the last residue of the domain in the protein.', { minimum: 1 }),
    family_start: count('Zero-based position of the first aligned residue of the consensus.'),
    family_end: count('Zero-based position after the last aligned residue of the consensus.', { minimum: 1 }),
    expected_false_hits: quantity('E-value of the domain in the search that found it.', { minimum: 0 }),
    log_expected_false_hits: quantity('Natural logarithm of the E-value, which does not underflow.'),
    bit_score: quantity('Bit score of the domain.'),
    round: count('Number of the search of the protein that found the domain, from 1.', { minimum: 1 }),
  },
  { description: 'Family that is aligned with a stretch of the protein.' },
);

export const ProteinAnnotation = named(
  'ProteinAnnotation',
  closed(
    {
      object: constant('protein_annotation'),
      query_index: count('Zero-based position of the protein in the input.'),
      query_id: text('Id of the protein in the input. Its zero-based position if the input has no id.'),
      length: count('Length of the protein in residues.', { minimum: 1 }),
      domains: Type.Array(AnnotatedDomain, {
        description: 'Domains of the protein, in ascending order of `start`.',
      }),
    },
    { chosen: true },
  ),
);

export const AnnotateRunSummary = named(
  'AnnotateRunSummary',
  closed(
    {
      object: constant('homology_annotation_summary'),
      database: HomologyCandidateSet.properties.database,
      execution: HomologyCandidateSet.properties.execution,
      protein_count: count('Number of proteins in the run.'),
      annotated_count: count('Number of proteins with at least one domain.'),
      domain_count: count('Number of domains in all proteins.'),
      uncovered_count: count(
        'Number of proteins without E-values, because the calibration does not cover their length or composition.',
      ),
      result_sha256: sha256('SHA-256 chained over the SHA-256 of the rows, in order.'),
      warnings: HomologyCandidateSet.properties.warnings,
    },
    { chosen: true },
  ),
);

export type AnnotateRunInput = Static<typeof AnnotateRunInput>;
export type AnnotateRunSummary = Static<typeof AnnotateRunSummary>;
export type ProteinAnnotation = Static<typeof ProteinAnnotation>;
