import { Type, type TSchema } from '@sinclair/typebox';
import { EXPORT_FIELDS_MAX_CHARACTERS } from '../../limits.js';
import { listOf } from '../grammar/envelope.js';
import { defineRoute } from '../grammar/route.js';
import { defaulted } from '../grammar/schema.js';
import { RunId } from './run-files.js';
import { RUN_ENDPOINTS, type EndpointContract } from './run-kinds.js';
import { CURSOR } from './runs.js';

const endpoints: readonly EndpointContract[] = Object.values(RUN_ENDPOINTS);
const ResultRow = Type.Union(
  endpoints.flatMap(({ row }) => (row === undefined ? [] : [row as TSchema])),
  {
    description: 'One row. Its schema depends on the `endpoint` of the run.',
  },
) as TSchema;

export const listRunResults = defineRoute({
  operationId: 'runs.results.list',
  method: 'GET',
  path: '/v1/runs/{run_id}/results',
  tag: 'runs',
  summary: 'Page through the results of a run',
  description:
    'Returns the rows in order. A returned row never changes. While the run works, a page has the ' +
    'rows so far and `has_more` stays true. A page ends early if a further row would exceed 8 MiB. ' +
    'With `Accept: text/tab-separated-values`, the candidates of a search are a table with one line ' +
    'for each alignment. By default the table has a header line. `outfmt` or `format_output` selects ' +
    'the columns of another tool instead. A `Link` header with `rel="next"` has the URL of the next ' +
    'page.',
  params: Type.Object({ run_id: RunId }, { additionalProperties: false }),
  query: Type.Object(
    {
      limit: defaulted(
        100,
        Type.Integer({ minimum: 1, maximum: 1000, description: 'Maximum number of rows in a page.' }),
      ),
      cursor: CURSOR,
      outfmt: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: EXPORT_FIELDS_MAX_CHARACTERS,
          description: 'For a table only: `6`, then names of columns as in BLAST and DIAMOND.',
        }),
      ),
      format_output: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: EXPORT_FIELDS_MAX_CHARACTERS,
          description: 'For a table only: comma-separated names of columns as in MMseqs2.',
        }),
      ),
    },
    { additionalProperties: false },
  ),
  success: {
    status: 200,
    schema: listOf('RunResultList', ResultRow),
    description: 'One page of rows.',
    otherMediaType: 'text/tab-separated-values',
  },
  successStyle: 'bare',
  errorStyle: 'envelope',
  work: 'light',
  refusals: [
    'run_not_found',
    'permission_denied',
    'cursor_invalid',
    'result_expired',
    'export_not_possible',
    'run_not_completed',
    'receipt_not_found',
  ],
});
