import { Type, type Static } from '@sinclair/typebox';
import { DATABASE_SELECTOR_MAX_CHARACTERS } from '../../limits.js';
import { listOf } from '../grammar/envelope.js';
import { defineRoute } from '../grammar/route.js';
import {
  closed,
  constant,
  count,
  defaulted,
  enumeration,
  flag,
  moment,
  named,
  text,
} from '../grammar/schema.js';

export const HomologyDatabase = named(
  'HomologyDatabase',
  closed(
    {
      object: constant('homology_database'),
      id: text('Database id.', { pattern: '^db_[0-9a-f]{24}$' }),
      slug: text('Name of the database; requests can select the database by slug or id.'),
      title: text('Title of its default release.'),
      description: text('Description of its default release.'),
      is_default: flag('True for the database that is searched if a request selects none.'),
      is_simulated: flag('True if the proteins were simulated, not observed.'),
      default_release_id: text('Release that is searched if a request names only the database.'),
      release_count: count('Number of releases that can be searched.'),
    },
    { chosen: true },
  ),
);

const FilterFieldSchema = closed({
  name: text('Name of the field, as a filter writes it.'),
  type: enumeration({
    string: 'text, compared by code points',
    integer: 'whole number, in decimal notation',
    number: 'number, in decimal notation',
    boolean: '`true` or `false`',
    string_list: 'list of texts',
  }),
  is_taxonomy: flag('True for fields to which the operator `descends_from` applies.'),
  operators: Type.Array(Type.String(), { description: 'Operators that accept the field.' }),
});

const FilterLimits = closed(
  {
    maximum_depth: count('Maximum nesting depth of filters, including the outermost one.'),
    maximum_clauses: count('Maximum number of filters, including nested ones.'),
    maximum_values: count('Maximum number of entries of all `values` together.'),
    maximum_substring_values: count(
      'Maximum number of `values` of `contains_any` and `contains_all` on text fields.',
    ),
    maximum_value_characters: count('Maximum number of characters of one value.'),
  },
  { description: 'Bounds of one filter over these fields.' },
);

export const HomologyRelease = named(
  'HomologyRelease',
  closed(
    {
      object: constant('homology_database_release'),
      id: text('Release id, derived from the content.', { pattern: '^dbr_[0-9a-f]{64}$' }),
      database_id: text('Id of the database of this release.'),
      database_slug: text('Slug of that database.'),
      is_default: flag('True for the release that is searched if a request names only the database.'),
      published_at: moment('Time when the release was added to the catalog.'),
      title: text('Title of the release.'),
      description: text('Description of the release.'),
      is_simulated: flag('True if the proteins were simulated, not observed.'),
      corpus_snapshot_id: text('Digest of ids, sequences and attributes; it does not depend on the encoder.'),
      normalization_id: text('Id of the rules by which letters are read as residues.'),
      encoder_id: text('Id of the encoder of the release.'),
      encoder_sha256: text('Digest of that encoder.'),
      dimension: count('Number of components of a residue vector.'),
      target_count: count('Number of proteins.'),
      residue_count: count('Number of residues.'),
      filter_schema_id: text('Id of the filter schema: `filter_fields`.'),
      filter_fields: Type.Array(FilterFieldSchema, { description: 'Fields that a filter may name.' }),
      filter_limits: FilterLimits,
    },
    { chosen: true },
  ),
);

const PageQuery = Type.Object(
  {
    limit: defaulted(
      20,
      Type.Integer({ minimum: 1, maximum: 100, description: 'Maximum number of rows of a page.' }),
    ),
    cursor: Type.Optional(
      Type.String({ minLength: 1, maxLength: 1024, description: '`next_cursor` of the previous page.' }),
    ),
  },
  { additionalProperties: false },
);

export const listDatabases = defineRoute({
  operationId: 'homology.databases.list',
  method: 'GET',
  path: '/v1/homology/databases',
  tag: 'homology',
  summary: 'List the databases that can be searched',
  description: 'Returns the databases that the organization can search, in the order of their slugs.',
  query: PageQuery,
  success: {
    status: 200,
    schema: listOf('HomologyDatabaseList', HomologyDatabase),
    description: 'One page of the list.',
  },
  successStyle: 'bare',
  errorStyle: 'envelope',
  work: 'light',
  refusals: ['cursor_invalid'],
});

export const listReleases = defineRoute({
  operationId: 'homology.databases.releases.list',
  method: 'GET',
  path: '/v1/homology/databases/{database}/releases',
  tag: 'homology',
  summary: 'List the releases of a database',
  description: 'Returns the releases of one database with their filter fields, newest first.',
  params: Type.Object(
    {
      database: Type.String({
        minLength: 1,
        maxLength: DATABASE_SELECTOR_MAX_CHARACTERS,
        description: 'Database id or slug.',
      }),
    },
    { additionalProperties: false },
  ),
  query: PageQuery,
  success: {
    status: 200,
    schema: listOf('HomologyReleaseList', HomologyRelease),
    description: 'One page of the list.',
  },
  successStyle: 'bare',
  errorStyle: 'envelope',
  work: 'light',
  refusals: ['cursor_invalid', 'database_not_found', 'permission_denied'],
});

export type HomologyDatabase = Static<typeof HomologyDatabase>;
export type HomologyRelease = Static<typeof HomologyRelease>;
