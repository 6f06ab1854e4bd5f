import { COMPARED_IDS_MAX_COUNT } from '../../limits.js';
import type { NamedQuery } from '../../pipelines/search.js';
import type { CommandContext } from '../terminal/command.js';
import { formatCount } from '../terminal/numbers.js';
import { warningLine } from '../terminal/warning.js';

/**
 * Warns at the end of the queries if some have the id of an earlier one: a table with the id alone does not tell their
 * rows apart. Of more than COMPARED_IDS_MAX_COUNT different ids, the later ones are not compared.
 * Errors  those of the queries
 */
export async function* warnOfRepeatedIds(
  queries: AsyncIterable<NamedQuery>,
  { stderr }: Pick<CommandContext, 'stderr'>,
): AsyncGenerator<NamedQuery> {
  const ids = new Set<string>();
  let [first, count] = ['', 0];
  for await (const query of queries) {
    if (ids.has(query.id)) {
      if (count === 0) first = query.id;
      count += 1;
    } else if (ids.size < COMPARED_IDS_MAX_COUNT) ids.add(query.id);
    yield query;
  }
  if (count === 0) return;
  const [have, rows] =
    count === 1 ? ['1 query has', 'its rows'] : [`${formatCount(count)} queries have`, 'their rows'];
  const message =
    `${have} the id of an earlier query, the first of them ${first}. ` +
    `Formats that name queries by their ids do not tell ${rows} apart.`;
  stderr.write(warningLine({ code: 'query_ids_repeated', message }));
}
