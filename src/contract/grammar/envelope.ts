import { Type, type Static, type TSchema } from '@sinclair/typebox';
import { closed, constant, count, flag, moment, named, openObject, sha256, text } from './schema.js';
import { ErrorDetail } from './failures.js';

export const Warning = named(
  'Warning',
  closed({
    code: text('Stable machine-readable code.'),
    message: text('Meaning of the warning for the result, as text for people.'),
    details: openObject('Machine-readable facts about the warning.'),
  }),
);

export const Provenance = named(
  'Provenance',
  closed({
    created_at: moment('Time when the server created this response.'),
    operation: text('Id of the operation, as in the OpenAPI document.'),
    request_id: text('Equals the header `X-Request-ID`.'),
    server_version: text('Exact build of the server: release version and commit.'),
    cache_hit: flag(
      'True when the server reused the result of an earlier equal execution, or an object that one had created.',
    ),
    database_snapshots: Type.Array(
      closed({
        name: text('Slug of the database.'),
        version: text('Release id.'),
        digest: text('Digest of the release, with its algorithm.'),
        kind: text('Kind of snapshot: `homology_release`.'),
      }),
      { description: 'Releases from which the result was computed.' },
    ),
    generated_object_ids: Type.Array(Type.String(), {
      description: 'Ids of the objects that this operation created.',
    }),
    input_hash: Type.Optional(
      sha256(
        'SHA-256 of the canonical JSON (RFC 8785) of the request body as sent, or of `null` without a body. ' +
          'Absent only if a long body was refused before it was read, or if the body is not JSON.',
      ),
    ),
    parameters_hash: sha256(
      'SHA-256 of the canonical JSON of path parameters, query parameters and body, with defaults filled in. ' +
        'A refused request is hashed as far as it was read.',
    ),
    tool_versions: Type.Array(
      closed({
        name: text('Name of the program, library or kernel backend.'),
        version: text('Version of the tool.'),
        path: text('Worker, instruction set, device, file or command that was used.'),
      }),
      {
        description:
          'Tools that computed the result, this server first. A result of an earlier execution also lists the tools ' +
          'of that execution.',
      },
    ),
  }),
);

export const Evidence = named(
  'Evidence',
  closed({
    warnings_count: count('Length of `warnings`.'),
    duration_ms: count('Milliseconds from the arrival of the request to this response.'),
    input_refs: Type.Array(Type.String(), { description: 'Ids that the request named.' }),
    object_refs: Type.Array(Type.String(), { description: 'Ids of the objects that the operation read.' }),
    output_refs: Type.Array(Type.String(), {
      description: 'Ids in the response that other requests can use.',
    }),
    row_count: count(
      'Number of rows in `data`, or in the result that `data` represents; 1 for a single resource without rows.',
    ),
  }),
);

export const SCHEMA_URL = text('URL of the JSON Schema of this object.', { format: 'uri' });

/** Returns the schema of a success envelope with this `data`. */
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

/** Returns the schema of a page of a list. The cursor is opaque: clients must not construct or parse it. */
export function listOf<Item extends TSchema>(name: string, item: Item) {
  return named(
    name,
    closed(
      {
        object: constant('list'),
        data: Type.Array(item),
        has_more: flag('True when a further page exists.'),
        next_cursor: Type.Union([text('Cursor of the next page: send it as `cursor`.'), Type.Null()]),
      },
      { chosen: true },
    ),
  );
}

export type Warning = Static<typeof Warning>;
export type Provenance = Static<typeof Provenance>;
export type Evidence = Static<typeof Evidence>;
export type FailureEnvelope = Static<typeof FailureEnvelope>;
