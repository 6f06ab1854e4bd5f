import { Type, type Static } from '@sinclair/typebox';
import { envelopeOf } from './grammar/envelope.js';
import { defineRoute } from './grammar/route.js';
import { closed, constant, defaulted, enumeration, named, ratio, text } from './grammar/schema.js';

export const RefsRequest = named(
  'RefsRequest',
  closed({
    query: Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'Id, accession, name or slug. A prefix or a misspelt form also matches.',
    }),
    limit: defaulted(
      20,
      Type.Integer({
        minimum: 1,
        maximum: 100,
        description: 'Maximum number of references in the response.',
        chosen: true,
      }),
    ),
  }),
);

const Reference = named(
  'Reference',
  closed(
    {
      object: constant('reference'),
      kind: enumeration({
        target: 'a protein of the default release of a database',
        database: 'a database, by slug, id or title',
        release: 'a release, by id or title',
        run: 'a run of the organization, by id or label',
        file: 'a stored file that the key may read, by id, path or file name',
      }),
      id: text('Id that other routes accept; for a target, its id in the release.'),
      name: text('Name of the object, or its id if it has no name.'),
      description: Type.Optional(
        text('Organism of a target, endpoint and status of a run, or path of a file.'),
      ),
      match: enumeration({
        exact: 'the query equals the id or a name',
        prefix: 'the id or a name starts with the query',
        token: 'each word of the query starts a word of the id or the names',
        similar: 'the words of the query resemble words of the id or the names',
      }),
      similarity: ratio(
        'Similarity of query and name, 1 if they are equal. It orders references with the same `match`.',
      ),
      database_slug: Type.Optional(text('Slug of a database, or of the database of a target or release.')),
      database_release_id: Type.Optional(text('Id of the release of a target.')),
    },
    { chosen: true },
  ),
);

export const RefsResolution = named(
  'RefsResolution',
  closed(
    {
      object: constant('refs_resolution'),
      query: text('The query as sent.'),
      references: Type.Array(Reference, { description: 'Best match first, in a deterministic order.' }),
      unindexed_release_ids: Type.Array(text('Id of a release.'), {
        description:
          'Releases without an index of names, because an earlier version built them. Their targets are found only ' +
          'by exact id. Rebuild the database to find its targets by name.',
      }),
    },
    { chosen: true },
  ),
);

export const resolveRefs = defineRoute({
  operationId: 'refs.resolve',
  method: 'POST',
  retry: 'same',
  path: '/v1/refs/resolve',
  tag: 'references',
  summary: 'Find objects by id, accession or name',
  description:
    'Finds targets, databases, releases, runs and files that the key may read. Exact matches of ids and names come ' +
    'first, then prefixes, then words, then similar names. Labels are compared for the newest 500 runs, and similar ' +
    'paths for 4,000 files. Exact ids and prefixes of paths are compared for all of them.',
  body: RefsRequest,
  success: {
    status: 200,
    schema: envelopeOf('RefsResolutionEnvelope', RefsResolution),
    description: 'The references; an empty list if nothing matches.',
  },
  successStyle: 'envelope',
  errorStyle: 'envelope',
  work: 'light',
  refusals: [],
});

export type RefsRequest = Static<typeof RefsRequest>;
export type Reference = Static<typeof Reference>;
export type RefsResolution = Static<typeof RefsResolution>;
