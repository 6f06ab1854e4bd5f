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
    description: 'A row as the endpoint of the run makes it.',
  },
) as TSchema;

export const listRunResults = defineRoute({
  operationId: 'runs.results.list',
  method: 'GET',
  path: '/v1/runs/{run_id}/results',
  tag: 'runs',
  summary: 'Page through the results of a run',
  description:
    'Rows in their order; a row that was given never changes. While the run works, the rows so far are given and ' +
    '`has_more` stays true. A page ends early rather than pass 8 MiB. With `Accept: text/tab-separated-values` the ' +
    'candidates of a search come as a table: one line each under a line of names, or in the columns that `outfmt` or ' +
    '`format_output` names; a `Link` header with `rel="next"` leads to the next page.',
  params: Type.Object({ run_id: RunId }, { additionalProperties: false }),
  query: Type.Object(
    {
      limit: defaulted(
        100,
        Type.Integer({ minimum: 1, maximum: 1000, description: 'Rows of a page at most.' }),
      ),
      cursor: CURSOR,
      outfmt: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: EXPORT_FIELDS_MAX_CHARACTERS,
          description: 'Of a table: `6`, then names of columns as BLAST and DIAMOND have them.',
        }),
      ),
      format_output: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: EXPORT_FIELDS_MAX_CHARACTERS,
          description: 'Of a table: names of columns between commas, as MMseqs2 has them.',
        }),
      ),
    },
    { additionalProperties: false },
  ),
  success: {
    status: 200,
    schema: listOf('RunResultList', ResultRow),
    description: 'One page.',
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
