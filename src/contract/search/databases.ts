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
      slug: text('Name of the database; serves as selector as the id does.'),
      title: text('Title of its default release.'),
      description: text('Description of its default release.'),
      is_default: flag('True for the database that is searched when a request selects none.'),
      is_simulated: flag('True where the proteins were simulated, not observed.'),
      default_release_id: text('Release that is searched when a request names only the database.'),
      release_count: count('Releases that can be searched.'),
    },
    { chosen: true },
  ),
);

const FilterFieldSchema = closed({
  name: text('Name of the field, as a filter writes it.'),
  type: enumeration({
    string: 'text, compared code point by code point',
    integer: 'whole number, in decimal notation',
    number: 'number, in decimal notation',
    boolean: '`true` or `false`',
    string_list: 'several texts',
  }),
  is_taxonomy: flag('True where `descends_from` applies.'),
  operators: Type.Array(Type.String(), { description: 'Operators that take the field.' }),
});

const FilterLimits = closed(
  {
    maximum_depth: count('Filters within filters, the outermost included.'),
    maximum_clauses: count('Filters in all.'),
    maximum_values: count('Entries of all `values` together.'),
    maximum_substring_values: count('Of them, those of `contains_any` and `contains_all` on texts.'),
    maximum_value_characters: count('Characters of one value.'),
  },
  { description: 'Bounds of one filter over these fields.' },
);

export const HomologyRelease = named(
  'HomologyRelease',
  closed(
    {
      object: constant('homology_database_release'),
      id: text('Release id: it names the content.', { pattern: '^dbr_[0-9a-f]{64}$' }),
      database_id: text('Database that it is a release of.'),
      database_slug: text('Name of that database.'),
      is_default: flag('True for the release that is searched when a request names only the database.'),
      published_at: moment('When it was added to the catalog.'),
      title: text('Title.'),
      description: text('Description.'),
      is_simulated: flag('True where the proteins were simulated, not observed.'),
      corpus_snapshot_id: text('Digest of ids, sequences and attributes, whatever encoder encoded them.'),
      normalization_id: text('How letters are read.'),
      encoder_id: text('Encoder of its residues.'),
      encoder_sha256: text('Digest of that encoder.'),
      dimension: count('Components of a residue vector.'),
      target_count: count('Proteins.'),
      residue_count: count('Residues.'),
      filter_schema_id: text('Names the fields below.'),
      filter_fields: Type.Array(FilterFieldSchema, { description: 'Fields that a filter may name.' }),
      filter_limits: FilterLimits,
    },
    { chosen: true },
  ),
);

const PageQuery = Type.Object(
  {
    limit: defaulted(20, Type.Integer({ minimum: 1, maximum: 100, description: 'Rows of a page at most.' })),
    cursor: Type.Optional(
      Type.String({ minLength: 1, maxLength: 1024, description: '`next_cursor` of the page before.' }),
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
  description: 'Databases visible to the organization, by slug.',
  query: PageQuery,
  success: {
    status: 200,
    schema: listOf('HomologyDatabaseList', HomologyDatabase),
    description: 'One page.',
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
  description: 'Releases with their filter fields, newest first.',
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
  success: { status: 200, schema: listOf('HomologyReleaseList', HomologyRelease), description: 'One page.' },
  successStyle: 'bare',
  errorStyle: 'envelope',
  work: 'light',
  refusals: ['cursor_invalid', 'database_not_found', 'permission_denied'],
});

export type HomologyDatabase = Static<typeof HomologyDatabase>;
export type HomologyRelease = Static<typeof HomologyRelease>;
