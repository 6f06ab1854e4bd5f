import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { availableParallelism } from 'node:os';
import { measured } from './commands.js';
import { qualifyCoded, qualifySampled, type GrowthDatabase, type GrowthFolder } from './databases.js';

/** A search as a command that writes query, target and E-value. */
export interface Method {
  readonly name: string;
  /** Absent for our own commands. */
  readonly program?: string;
  /** Whether the table has E-values; recall is measured then. */
  readonly hasEValues: boolean;
  /** Slow methods get fewer queries. */
  readonly isSlow: boolean;
  /** Makes what is kept for later searches: a policy or an index. It is not timed. */
  prepare(folder: GrowthFolder, database: GrowthDatabase): Promise<void>;
  search(folder: GrowthFolder, database: GrowthDatabase, queries: string, output: string): string;
}

/** Largest E-value of the programs' hits, as for our evident pairs and ten best. */
const LARGEST_E = 10;
const TRUTH_LIMIT = 10_000;
/** Most hits of a query, for all methods. */
export const MOST_HITS = 1_000;
const THREADS = availableParallelism();

/** The table that the programs write. It needs no alignment paths, and the programs write none. */
const SAME_TABLE = `--format-output query,target,evalue --max-evalue ${LARGEST_E}`;

function ours(policy: 'coded' | 'sampled', hasEValues = true): Method {
  const output = hasEValues ? SAME_TABLE : '--format tsv --significance not_requested';
  return {
    name: `gloaming ${policy}${hasEValues ? '' : ', no E-values'}`,
    hasEValues,
    isSlow: false,
    prepare: policy === 'coded' ? qualifyCoded : qualifySampled,
    search: (folder, { slug }, queries, path) =>
      folder.gloaming(policy, `search '${queries}' -d ${slug} ${output} --limit ${MOST_HITS} -o '${path}'`),
  };
}

/** Also the truth that the others are measured against. */
export const exhaustive: Method = {
  name: 'gloaming exhaustive',
  hasEValues: true,
  isSlow: true,
  prepare: () => Promise.resolve(),
  search: (folder, { slug }, queries, output) =>
    folder.gloaming(
      'coded',
      `search '${queries}' -d ${slug} --format tsv --guarantee exhaustive --limit ${TRUTH_LIMIT} -o '${output}'`,
    ),
};

function mmseqs(sensitivity: string): Method {
  const nameOf = ({ slug }: GrowthDatabase): string => `mmseqs-${slug}-s${sensitivity}`;
  return {
    name: `mmseqs -s ${sensitivity}`,
    program: 'mmseqs',
    hasEValues: true,
    isSlow: false,
    async prepare({ path }, database) {
      const name = nameOf(database);
      if (existsSync(join(path, `${name}.idx.index`))) return;
      await measured(`mmseqs createdb ${database.slug}.ids.fasta ${name} -v 0`, path);
      await measured(
        `mmseqs createindex ${name} mmseqs-tmp -s ${sensitivity} --threads ${THREADS} -v 0`,
        path,
      );
    },
    search: (_, database, queries, output) =>
      // mmseqs takes intermediate results of an equal call from its folder.
      `rm -rf mmseqs-tmp && ` +
      `mmseqs easy-search '${queries}' ${nameOf(database)} '${output}' mmseqs-tmp -s ${sensitivity} -e ${LARGEST_E} ` +
      `--max-seqs ${MOST_HITS} --db-load-mode 2 --threads ${THREADS} -v 0 --format-output query,target,evalue`,
  };
}

const diamond: Method = {
  name: 'diamond --very-sensitive',
  program: 'diamond',
  hasEValues: true,
  isSlow: false,
  async prepare({ path }, { slug }) {
    if (!existsSync(join(path, `${slug}.dmnd`)))
      await measured(`diamond makedb --in ${slug}.ids.fasta --db ${slug} --quiet`, path);
  },
  search: (_, { slug }, queries, output) =>
    `diamond blastp --query '${queries}' --db ${slug} --out '${output}' --very-sensitive -e ${LARGEST_E} ` +
    `-k ${MOST_HITS} --threads ${THREADS} --quiet --outfmt 6 qseqid sseqid evalue`,
};

const blastp: Method = {
  name: 'blastp',
  program: 'blastp',
  hasEValues: true,
  isSlow: true,
  async prepare({ path }, { slug }) {
    if (!existsSync(join(path, `${slug}-blast.pdb`)))
      await measured(`makeblastdb -in ${slug}.ids.fasta -dbtype prot -out ${slug}-blast`, path);
  },
  search: (_, { slug }, queries, output) =>
    `blastp -query '${queries}' -db ${slug}-blast -out '${output}' -evalue ${LARGEST_E} ` +
    `-max_target_seqs ${MOST_HITS} -num_threads ${THREADS} -outfmt '6 qseqid sseqid evalue'`,
};

/** The method whose time is divided among its stages, too. */
export const STAGED = ours('coded');

export const METHODS: readonly Method[] = [
  exhaustive,
  ours('sampled'),
  STAGED,
  ours('coded', false),
  mmseqs('5.7'),
  mmseqs('7.5'),
  diamond,
  blastp,
];
