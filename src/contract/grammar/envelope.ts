import { Type, type Static, type TSchema } from '@sinclair/typebox';
import { closed, constant, count, flag, moment, named, openObject, sha256, text } from './schema.js';
import { ErrorDetail } from './failures.js';

export const Warning = named(
  'Warning',
  closed({
    code: text('Stable machine-readable code.'),
    message: text('What it means for the result, for a person.'),
    details: openObject('Machine-readable facts.'),
  }),
);

export const Provenance = named(
  'Provenance',
  closed({
    created_at: moment('When the server made this response.'),
    operation: text('Id of the operation, as in the OpenAPI document.'),
    request_id: text('Equals the header `X-Request-ID`.'),
    server_version: text('Exact build of the server: release version and commit.'),
    cache_hit: flag('True when an earlier equal execution was reused, or what it had made.'),
    database_snapshots: Type.Array(
      closed({
        name: text('Slug of the database.'),
        version: text('Release id.'),
        digest: text('Digest of the release, with its algorithm.'),
        kind: text('Kind of snapshot: `homology_release`.'),
      }),
      { description: 'Releases that the result was computed from.' },
    ),
    generated_object_ids: Type.Array(Type.String(), {
      description: 'Ids of what this operation brought into being.',
    }),
    input_hash: Type.Optional(
      sha256(
        'SHA-256 of the canonical JSON (RFC 8785) of the request body as it was sent; of `null` without a body. ' +
          'Absent only where a refusal came before a long body was read, or where the body is no JSON.',
      ),
    ),
    parameters_hash: sha256(
      'SHA-256 of the canonical JSON of path, query and body with defaults filled in, as far as they were read.',
    ),
    tool_versions: Type.Array(
      closed({
        name: text('Name of the program, library or kernel backend.'),
        version: text('Its version.'),
        path: text('What of it served: its instruction set, device or file.'),
      }),
      {
        description:
          'What computed the result: this server first; for a result of before, also what computed that.',
      },
    ),
  }),
);

export const Evidence = named(
  'Evidence',
  closed({
    warnings_count: count('Length of `warnings`.'),
    duration_ms: count('From arrival of the request to this response.'),
    input_refs: Type.Array(Type.String(), { description: 'Ids that the request named.' }),
    object_refs: Type.Array(Type.String(), { description: 'Ids of what was read to answer.' }),
    output_refs: Type.Array(Type.String(), {
      description: 'Ids that the answer names and can be asked for.',
    }),
    row_count: count(
      'Rows in `data`, or of the result that `data` stands for; 1 for a single resource without rows.',
    ),
  }),
);

export const SCHEMA_URL = text('URL of the JSON Schema of this object.', { format: 'uri' });

/** Returns the envelope of a success with this `data`. */
export function envelopeOf<Data extends TSchema>(name: string, data: Data) {
  return named(
    name,
    closed({
      ok: Type.Literal(true, { description: 'The operation succeeded.' }),
      provenance: Provenance,
      warnings: Type.Array(Warning),
      $schema: SCHEMA_URL,
      data,
      evidence: Evidence,
    }),
  );
}

/** Envelope of a failure. */
export const FailureEnvelope = named(
  'FailureEnvelope',
  closed({
    ok: Type.Literal(false, { description: 'The operation failed.' }),
    provenance: Provenance,
    warnings: Type.Array(Warning),
    $schema: SCHEMA_URL,
    error: ErrorDetail,
    evidence: Evidence,
  }),
);

/** Returns a page of a list. The cursor is opaque: clients must not construct or parse it. */
export function listOf<Item extends TSchema>(name: string, item: Item) {
  return named(
    name,
    closed(
      {
        object: constant('list'),
        data: Type.Array(item),
        has_more: flag('True when a further page exists.'),
        next_cursor: Type.Union([text('Pass it back as `cursor` for the next page.'), Type.Null()]),
      },
      { chosen: true },
    ),
  );
}

export type Warning = Static<typeof Warning>;
export type Provenance = Static<typeof Provenance>;
export type Evidence = Static<typeof Evidence>;
export type FailureEnvelope = Static<typeof FailureEnvelope>;
