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

/* Runs that find the domains of proteins by a release whose targets are families. */

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
          description: 'Searches of one protein at most; the later ones are of what has no domain yet.',
        }),
      ),
      limit: defaulted(
        100,
        Type.Integer({
          minimum: 1,
          maximum: RETAINED_MAX_CANDIDATES,
          description: 'Nearest families that are compared in full, for each protein.',
        }),
      ),
    },
    {
      description:
        'Up to 100,000 proteins: `queries`, `fasta` or `fasta_url`, one of them; and a release, whose targets are ' +
        'families or domains and which has E-values.',
      allOf: [...ONE_SELECTOR.allOf, ...ONE_SOURCE.allOf],
      anyOf: ONE_SOURCE.anyOf,
      chosen: true,
    },
  ),
);

const Family = closed(
  {
    id: text('Id of the target.'),
    name: text('Name of the family; its id if it has none.'),
    accession: Type.Optional(text('Accession of the family.')),
    description: Type.Optional(text('What the family is.')),
    clan: Type.Optional(text('Clan of the family.')),
    type: Type.Optional(text('Kind of the family, such as Domain or Repeat.')),
    length: count('Residues of its consensus.', { minimum: 1 }),
  },
  { description: 'The family, as the attributes of its target name it.' },
);

const AnnotatedDomain = closed(
  {
    family: Family,
    start: count('First residue of the protein; the first of all is 0.'),
    end: count('Residue after the last one.', { minimum: 1 }),
    family_start: count('First residue of the consensus.'),
    family_end: count('Residue of the consensus after the last one.', { minimum: 1 }),
    expected_false_hits: quantity('E-value of the search that found the domain.', { minimum: 0 }),
    log_expected_false_hits: quantity('Its natural logarithm, which does not underflow.'),
    bit_score: quantity('Bit score of the domain.'),
    round: count('Search of the protein that found it, from 1.', { minimum: 1 }),
  },
  { description: 'A family that aligns with a stretch of the protein.' },
);

export const ProteinAnnotation = named(
  'ProteinAnnotation',
  closed(
    {
      object: constant('protein_annotation'),
      query_index: count('Position of the protein in the input; the first is 0.'),
      query_id: text('Your name of the protein; its position where it had none.'),
      length: count('Residues of the protein.', { minimum: 1 }),
      domains: Type.Array(AnnotatedDomain, { description: 'Its domains, by their starts.' }),
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
      protein_count: count('Proteins of the run.'),
      annotated_count: count('Proteins with a domain.'),
      domain_count: count('Domains of all proteins.'),
      uncovered_count: count('Proteins without E-values: shorter or longer than the calibration covers.'),
      result_sha256: sha256('Chained over the digests of the rows in order.'),
      warnings: HomologyCandidateSet.properties.warnings,
    },
    { chosen: true },
  ),
);

export type AnnotateRunInput = Static<typeof AnnotateRunInput>;
export type AnnotateRunSummary = Static<typeof AnnotateRunSummary>;
export type ProteinAnnotation = Static<typeof ProteinAnnotation>;
