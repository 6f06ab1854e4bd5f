import { basename, resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { loadConfig } from '../../config.js';
import { Refusal } from '../../errors.js';
import { RETAINED_MAX_CANDIDATES } from '../../limits.js';
import { annotateProteins, type AnnotateProteinsOptions } from '../../pipelines/domains/annotate.js';
import type { AnnotatedProtein } from '../../pipelines/domains/tables.js';
import { FAMILY_ID } from '../../release/family-id.js';
import type { Release } from '../../release/release.js';
import { openSearcher } from '../../searcher.js';
import { noticeText } from '../index/notices.js';
import { summaryPage } from '../report/domain-summary.js';
import { selectRelease } from '../search/select-release.js';
import { positiveInteger, positiveNumber } from '../terminal/arguments.js';
import type { CommandContext } from '../terminal/command.js';
import { runPipeline } from '../terminal/pipeline.js';

interface AnnotateFlags {
  readonly database: string;
  readonly output: string;
  readonly maxEvalue: number;
  readonly against?: string;
  readonly rounds: number;
  readonly limit: number;
  readonly guarantee: AnnotateProteinsOptions['guarantee'];
}

const HELP = `
The folder gets domains.tsv, domains.gff3, domains.domtblout (the columns of hmmscan), domains.parquet and
summary.html. Killed at any moment, the same command goes on.

With --against, a domain is new if the file covers less than half of its residues: column new of domains.tsv and
domains.parquet, attribute new=1 of domains.gff3, outlines in summary.html.

Of overlapping domains of one clan or family the one with the smallest E-value stays. Of the others, the set without
overlaps that has the largest sum of bit scores is chosen.

Example:
  gloaming annotate proteome.fasta --database pfam --output domains`;

/** `gloaming annotate`: domains of many proteins by a database of families. */
export function register(program: Command, context: CommandContext): void {
  program
    .command('annotate')
    .description('find the domains of many proteins with a database of families')
    .argument('<fasta>', 'FASTA file, plain or compressed')
    .requiredOption('-d, --database <name>', 'slug of a database of families, or a release id')
    .requiredOption('-o, --output <folder>', 'where the files go')
    .option(
      '--against <file>',
      'mark what this annotation of the proteins does not have: --domtblout of hmmscan, or TSV of InterProScan',
    )
    .option('--max-evalue <value>', 'largest E-value of a domain', positiveNumber, 1e-3)
    .option(
      '--rounds <count>',
      'searches of one protein: the later ones of what has no domain yet',
      positiveInteger,
      4,
    )
    .option('-l, --limit <count>', 'nearest families that are compared in full', positiveInteger, 100)
    .addOption(
      new Option('--guarantee <kind>', 'how families are looked for')
        .choices(['approximate', 'exhaustive'])
        .default('approximate'),
    )
    .addHelpText('after', HELP)
    .action((fasta: string, flags: AnnotateFlags) => annotate(fasta, flags, context));
}

/** Attributes that a release has if its targets are families, or members of them. */
const FAMILY_FIELDS: readonly string[] = ['member_count', FAMILY_ID];

function hasFamilies({ fields }: Pick<Release, 'fields'>): boolean {
  return fields.some(({ name }) => FAMILY_FIELDS.includes(name));
}

async function annotate(fasta: string, flags: AnnotateFlags, context: CommandContext): Promise<void> {
  const { database: name, output, maxEvalue: maxEValue, rounds, limit, guarantee, against } = flags;
  if (limit > RETAINED_MAX_CANDIDATES) {
    throw new Refusal('invalid_option', `--limit goes up to ${RETAINED_MAX_CANDIDATES}.`);
  }
  const config = loadConfig(context.environment);
  const searcher = await openSearcher(config);
  try {
    const { releaseId, slug } = selectRelease(searcher.releases, name);
    const engine = await searcher.engines.open(releaseId);
    if (!hasFamilies(engine.release))
      context.stderr.write(`${slug} has proteins, not families: each hit is written as a domain.\n`);
    const head = {
      database: slug,
      releaseId,
      maxEValue,
      ...(against !== undefined && { against: basename(against) }),
    };
    const summaryOf = (proteins: readonly AnnotatedProtein[]): string => summaryPage(head, proteins);
    const place = {
      fasta,
      output: resolve(output),
      database: slug,
      ...(against !== undefined && { against }),
    };
    const options = { ...place, maxEValue, rounds, limit, guarantee, summaryOf };
    const done = await runPipeline(
      context,
      { command: 'annotate', database: slug, dataFolder: config.dataFolder },
      noticeText,
      (events) => annotateProteins(engine, options, events),
    );
    const [proteins, annotated, domains, uncovered] = [
      done.proteins,
      done.annotated,
      done.domains,
      done.uncovered,
    ].map((count) => count.toLocaleString('en'));
    const unjudged =
      done.uncovered === 0 ? '' : `Proteins of a length or composition without E-values: ${uncovered}.\n`;
    const found =
      done.newDomains === undefined
        ? ''
        : `Domains that ${basename(against ?? '')} does not have: ${done.newDomains.toLocaleString('en')}.\n`;
    const files = done.files.map((file) => `  ${file}\n`).join('');
    context.stdout.write(
      `${domains} domains in ${annotated} of ${proteins} proteins.\n${found}${unjudged}${files}`,
    );
  } finally {
    await searcher.close();
  }
}
