import { Refusal } from '../../errors.js';
import type { Predicate, SingleValueOperator } from '../../release/filter/operators.js';

/** Operators of the short form, longer ones first, so that `<=` is not read as `<`. */
const SIGNS: readonly (readonly [sign: string, op: SingleValueOperator])[] = [
  ['!=', 'ne'],
  ['<=', 'lte'],
  ['>=', 'gte'],
  ['=', 'eq'],
  ['<', 'lt'],
  ['>', 'gt'],
  ['~', 'contains'],
];
/** How --filter writes an operator: its sign, or a word where it has one; undefined where only JSON has it. */
export function shortForm(op: string): string | undefined {
  if (op === 'in') return 'in (…)';
  if (op === 'not_in') return 'not in (…)';
  if (op === 'descends_from') return 'under';
  return SIGNS.find((each) => each[1] === op)?.[0];
}

const UNDER = /^(?<field>\S+)\s+under\s+(?<taxon>\S.*)$/;
const LIST = /^(?<field>\S+)\s+(?<not>not\s+)?in\s*\((?<list>.*)\)$/s;
const LIST_VALUE = /\s*(?:"((?:[^"\\]|\\.)*)"|([^,"]*[^,"\s]))\s*(?:,|$)/y;

/** Help text for --filter. */
export const FILTER_HELP = `Filters (--filter; repeated: all must hold):
  organism=Homo sapiens   equal; != is the opposite
  length>=100             also > < <=, by number or, of texts, by letters
  name~kinase             contains, letter by letter
  organism in (Mus musculus, "Rattus norvegicus")   one of a list; also: not in (…)
  taxid under Bacteria    below a taxon of the taxonomy, by scientific name or number
  {"op": "or", …}         the JSON of the homology route, with everything it can say
"gloaming index fields DATABASE" lists what there is.
`;

/**
 * Reads the filter of the command line. Each expression is JSON as over HTTP, or a short form (`organism=Homo sapiens`,
 * `length>=100`, `name~kinase`, `organism in (…)`, `taxid under Bacteria`). All expressions must hold.
 * Errors  Refusal `invalid_filter` if an expression is neither
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
    return { op: 'descends_from', field: under['field'], value: under['taxon'] } as Predicate;
  const listed = LIST.exec(expression.trim())?.groups;
  if (listed !== undefined) {
    const { field, not, list = '' } = listed;
    return { op: not === undefined ? 'in' : 'not_in', field, values: readList(list, expression) };
  }
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

/** Values separated by commas. A value that contains a comma is quoted. */
function readList(list: string, expression: string): string[] {
  const values: string[] = [];
  LIST_VALUE.lastIndex = 0;
  while (LIST_VALUE.lastIndex < list.length) {
    const [, quoted, plain] = LIST_VALUE.exec(list) ?? [];
    const value = quoted?.replaceAll(/\\(.)/g, '$1') ?? plain;
    if (value === undefined) throw refuse(expression, 'has a list that cannot be read');
    values.push(value);
  }
  return values;
}

function refuse(expression: string, problem: string): Refusal {
  return new Refusal(
    'invalid_filter',
    `The filter ${JSON.stringify(expression.slice(0, 200))} ${problem}. ` +
      `Write field=value (or ${SIGNS.slice(0, -1)
        .map(([sign]) => sign)
        .join(' ')}), field~part, ` +
      'field in (a, "b, c"), "taxid under Bacteria", or the JSON of the homology route.',
    { param: 'filter' },
  );
}
