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
      description: 'Id, accession, name or slug; a beginning of it or a misspelt one will do.',
    }),
    limit: defaulted(
      20,
      Type.Integer({
        minimum: 1,
        maximum: 100,
        description: 'Things that are returned at most.',
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
        file: 'a stored file that the key may read, by id or path',
      }),
      id: text('Id by which other routes take it; of a target, its id in the release.'),
      name: text('What people call it; the id where it has no name.'),
      description: Type.Optional(text('What else is known of it: organism, path, state.')),
      match: enumeration({
        exact: 'the query is its id or one of its names',
        prefix: 'one of them begins with the query',
        token: 'every word of the query begins a word of them',
        similar: 'its words are like those of the query',
      }),
      similarity: ratio('1 where query and name are the same; orders things of one kind of match.'),
      database_slug: Type.Optional(text('Database of a target or release.')),
      database_release_id: Type.Optional(text('Release of a target.')),
    },
    { chosen: true },
  ),
);

export const RefsResolution = named(
  'RefsResolution',
  closed(
    {
      object: constant('refs_resolution'),
      query: text('The query, as it was sent.'),
      references: Type.Array(Reference, { description: 'Best first; the order is the same every time.' }),
      unindexed_release_ids: Type.Array(text('Id of a release.'), {
        description:
          'Releases that were built before names were indexed: their targets are found by exact id only. Build the ' +
          'database again to find them by name.',
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
  summary: 'Find things by id, accession or name',
  description:
    'Looks for targets, databases, releases, runs and files that the key may see: exact ids and names first, then ' +
    'beginnings, then words, then what is alike. Runs are looked for by label among the newest 500, files by ' +
    'likeness among 4,000; by id, or the beginning of a path, all of them are found.',
  body: RefsRequest,
  success: {
    status: 200,
    schema: envelopeOf('RefsResolutionEnvelope', RefsResolution),
    description: 'What was found; nothing found is an empty list.',
  },
  successStyle: 'envelope',
  errorStyle: 'envelope',
  work: 'light',
  refusals: [],
});

export type RefsRequest = Static<typeof RefsRequest>;
export type Reference = Static<typeof Reference>;
export type RefsResolution = Static<typeof RefsResolution>;
