import type { Command } from 'commander';
import { attributeColumn } from '../../release/filter/columns.js';
import { operatorsOf } from '../../release/filter/operators.js';
import { openRelease } from '../../release/open.js';
import type { AttributeValue, FilterField, Release } from '../../release/release.js';
import type { CommandContext } from '../terminal/command.js';
import { formatTable } from '../terminal/table.js';
import { selectOneRelease } from '../../pipelines/catalog.js';
import { shortForm } from '../search/filter.js';
import { withCatalog } from './catalog.js';

/** Shown values of an attribute at most. */
const SHOWN_VALUES = 3;
const VALUE_MAX_CHARACTERS = 32;

/** `gloaming index fields`: the attributes that filters of a database can use. */
export function addFieldsCommand(index: Command, context: CommandContext): void {
  index
    .command('fields')
    .description('attributes of a database that filters can use, with their most frequent values')
    .argument('<database>', 'slug or release id; of a database, its default release')
    .action((selector: string) =>
      withCatalog(context, async (catalog) => {
        const { directory } = selectOneRelease(catalog, selector);
        context.stdout.write(describeFields(await openRelease(directory)));
      }),
    );
}

function describeFields(release: Release): string {
  const header = ['field', 'type', 'proteins', 'values', 'most frequent'];
  const rows = release.fields.map((field) => rowOf(field, release));
  const operators = [...new Set(release.fields.map(({ type }) => type))].map(
    (type) => `${type}: ${operatorsOf(type, false).join(', ')}\n`,
  );
  const under = release.fields.find(({ isTaxonomy }) => isTaxonomy === true);
  return [
    formatTable(header, rows, new Set([2, 3])),
    `\nOperators by type\n${operators.join('')}`,
    filterSigns([...new Set(release.fields.flatMap(({ type }) => operatorsOf(type, false)))]),
    under === undefined
      ? ''
      : `${under.name}: also "${under.name} under" a taxon, by number or scientific name\n`,
  ].join('');
}

/** How --filter writes the operators that have a sign or a word there. */
function filterSigns(operators: readonly string[]): string {
  const signs = operators.flatMap((op) => {
    const sign = shortForm(op);
    return sign === undefined ? [] : [`${sign} is ${op}`];
  });
  return `--filter writes them shorter: ${signs.join(', ')}; the others as JSON\n`;
}

function rowOf({ name, type, isTaxonomy }: FilterField, { targets }: Release): string[] {
  const kind = isTaxonomy === true ? 'taxid' : type;
  const column = attributeColumn(targets, name);
  if (column === undefined) return [name, kind, count(targets.count), 'nearly all differ', ''];
  const counts = new Map<string, number>();
  let present = 0;
  const perCode = new Uint32Array(column.values.length);
  for (const code of column.codes) if (code > 0) perCode[code - 1] += 1;
  column.values.forEach((value, code) => {
    present += perCode[code];
    for (const text of textsOf(value)) counts.set(text, (counts.get(text) ?? 0) + perCode[code]);
  });
  const frequent = [...counts]
    .toSorted(([, left], [, right]) => right - left)
    .slice(0, SHOWN_VALUES)
    .map(([text, times]) => `${cut(text)} (${count(times)})`);
  return [name, kind, count(present), count(counts.size), frequent.join(', ')];
}

function textsOf(value: AttributeValue): readonly string[] {
  return typeof value === 'object' ? value : [String(value)];
}

function cut(text: string): string {
  return text.length <= VALUE_MAX_CHARACTERS ? text : `${text.slice(0, VALUE_MAX_CHARACTERS - 1).trimEnd()}…`;
}

function count(value: number): string {
  return value.toLocaleString('en');
}
