import type { Command } from 'commander';
import { isDeepStrictEqual } from 'node:util';
import { openRelease } from '../../../release/open.js';
import type { Release } from '../../../release/release.js';
import type { CommandContext } from '../../terminal/command.js';
import { selectOneRelease, shortId } from '../../../pipelines/catalog.js';
import { withCatalog } from '../catalog.js';

/** Shown ids of a kind at most. */
const SHOWN_IDS = 10;

/** Differences of two releases by protein id. Order  lists are in the order of the releases */
interface ReleaseDifference {
  readonly from: string;
  readonly to: string;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Ids with different sequences. */
  readonly changed_sequences: readonly string[];
  /** Ids with equal sequences, and the names of their different attributes. */
  readonly changed_attributes: readonly { readonly id: string; readonly attributes: readonly string[] }[];
  readonly added_fields: readonly string[];
  readonly removed_fields: readonly string[];
  /** Members of the manifest that differ, without counts, digests and fields. */
  readonly changed_settings: readonly string[];
}

/** `gloaming index diff`. */
export function addDiffCommand(index: Command, context: CommandContext): void {
  index
    .command('diff')
    .description('what one release has that another has not: proteins, sequences, attributes')
    .argument('<from>', 'slug or release id; of a database, its default release')
    .argument('<to>', 'the same')
    .option('--json', 'all ids, as JSON')
    .action((from: string, to: string, { json }: { json?: boolean }) =>
      withCatalog(context, async (catalog) => {
        const open = (selector: string): Promise<Release> =>
          openRelease(selectOneRelease(catalog, selector).directory);
        const difference = differenceOf(await open(from), await open(to));
        context.stdout.write(
          json === true ? `${JSON.stringify(difference, undefined, 2)}\n` : describe(difference),
        );
      }),
    );
}

function differenceOf(from: Release, to: Release): ReleaseDifference {
  const [before, after] = [from.targets, to.targets];
  const added: string[] = [];
  const changedSequences: string[] = [];
  const changedAttributes: { id: string; attributes: readonly string[] }[] = [];
  for (let target = 0; target < after.count; target += 1) {
    const id = after.id(target);
    const earlier = before.find(id);
    if (earlier === undefined) added.push(id);
    else if (before.sequence(earlier) !== after.sequence(target)) changedSequences.push(id);
    else {
      const attributes = changedOf(before.attributes(earlier), after.attributes(target));
      if (attributes.length > 0) changedAttributes.push({ id, attributes });
    }
  }
  const removed: string[] = [];
  for (let target = 0; target < before.count; target += 1) {
    if (after.find(before.id(target)) === undefined) removed.push(before.id(target));
  }
  const names = ({ fields }: Release): ReadonlySet<string> => new Set(fields.map(({ name }) => name));
  const missingIn = (all: ReadonlySet<string>, some: ReadonlySet<string>): readonly string[] =>
    [...some].filter((name) => !all.has(name));
  return {
    from: from.id,
    to: to.id,
    added,
    removed,
    changed_sequences: changedSequences,
    changed_attributes: changedAttributes,
    added_fields: missingIn(names(from), names(to)),
    removed_fields: missingIn(names(to), names(from)),
    changed_settings: changedOf(settingsOf(from), settingsOf(to)),
  };
}

/** Returns the members of a manifest that the lists do not cover. */
function settingsOf({ manifest }: Release): Readonly<Record<string, unknown>> {
  const { counts: _, files: __, filter_schema: ___, corpus_snapshot_id: ____, ...settings } = manifest;
  return settings;
}

/** Returns the names of unequal members, in the order of the second value. */
function changedOf(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): readonly string[] {
  const names = new Set([...Object.keys(after), ...Object.keys(before)]);
  return [...names].filter((name) => !isDeepStrictEqual(before[name], after[name]));
}

function describe(difference: ReleaseDifference): string {
  const { from, to, changed_attributes: attributes } = difference;
  const line = (name: string, entries: readonly string[]): string => {
    const rest = entries.length > SHOWN_IDS ? ', …' : '';
    const shown = entries.length === 0 ? '' : `  ${entries.slice(0, SHOWN_IDS).join(', ')}${rest}`;
    return `  ${name.padEnd(20)}  ${entries.length.toLocaleString('en').padStart(9)}${shown}\n`;
  };
  return [
    `From ${shortId(from)} to ${shortId(to)}\n`,
    line('proteins added', difference.added),
    line('proteins removed', difference.removed),
    line('sequences changed', difference.changed_sequences),
    line(
      'attributes changed',
      attributes.map(({ id, attributes: names }) => `${id} (${names.join(', ')})`),
    ),
    line('fields added', difference.added_fields),
    line('fields removed', difference.removed_fields),
    line('settings changed', difference.changed_settings),
  ].join('');
}
