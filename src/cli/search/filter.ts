import { Refusal } from '../../errors.js';
import type { Predicate, SingleValueOperator } from '../../release/filter/operators.js';

/** Signs of the short form; longer ones first, so that `<=` is not read as `<`. */
const SIGNS: readonly (readonly [sign: string, op: SingleValueOperator])[] = [
  ['!=', 'ne'],
  ['<=', 'lte'],
  ['>=', 'gte'],
  ['=', 'eq'],
  ['<', 'lt'],
  ['>', 'gt'],
  ['~', 'contains'],
];
const UNDER = /^(?<field>\S+)\s+under\s+(?<taxid>\d+)$/;

/**
 * The filter that the command line asks for: each expression is JSON as over HTTP, or a short form
 * (`organism=Homo sapiens`, `length>=100`, `name~kinase`, `taxid under 9606`); several must all hold.
 * Errors  Refusal `invalid_filter` where an expression is neither
 */
export function readFilterExpressions(expressions: readonly string[]): unknown {
  const filters = expressions.map(readExpression);
  return filters.length <= 1 ? filters[0] : { op: 'and', filters };
}

function readExpression(expression: string): unknown {
  if (expression.trimStart().startsWith('{')) {
    try {
      return JSON.parse(expression) as unknown;
    } catch (cause) {
      throw refuse(expression, `is not valid JSON (${(cause as Error).message})`);
    }
  }
  const under = UNDER.exec(expression.trim())?.groups;
  if (under !== undefined)
    return { op: 'descends_from', field: under['field'], value: under['taxid'] } as Predicate;
  const [first] = SIGNS.map(([sign, op]) => ({ sign, op, at: expression.indexOf(sign) }))
    .filter(({ at }) => at > 0)
    .sort((left, right) => left.at - right.at || right.sign.length - left.sign.length);
  if (first === undefined) throw refuse(expression, 'is neither JSON nor of the form field=value');
  return {
    op: first.op,
    field: expression.slice(0, first.at).trim(),
    value: expression.slice(first.at + first.sign.length).trim(),
  };
}

function refuse(expression: string, problem: string): Refusal {
  return new Refusal(
    'invalid_filter',
    `The filter ${JSON.stringify(expression.slice(0, 200))} ${problem}. ` +
      `Write field=value (or ${SIGNS.slice(0, -1)
        .map(([sign]) => sign)
        .join(' ')}), field~part, ` +
      '"taxid under 9606", or the JSON of the homology route.',
    { param: 'filter' },
  );
}
