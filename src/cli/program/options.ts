import type { Command } from 'commander';
import { closest, distance } from 'fastest-levenshtein';

/* Unknown options: the nearest option of the command, and options of BLAST, DIAMOND and MMseqs2. */

/** An option of another program: the option here, or a sentence where there is none. */
type Translation = readonly [programs: string, here: string];

const BLAST = 'BLAST';
const DIAMOND = 'DIAMOND';
const MMSEQS = 'MMseqs2';

/** Start of the text of an option that no option here replaces. */
const NEEDLESS = 'nothing: ';

/** Names of options without their dashes. */
const FOREIGN_OPTIONS: Readonly<Record<string, Translation>> = {
  evalue: [`${BLAST} and ${DIAMOND}`, '--max-evalue (-e)'],
  db: [`${BLAST} and ${DIAMOND}`, '--database (-d)'],
  out: [`${BLAST} and ${DIAMOND}`, '--output (-o)'],
  outfmt: [BLAST, "--outfmt '6 qseqid sseqid evalue'"],
  query: [`${BLAST} and ${DIAMOND}`, 'the FASTA file itself, which is an argument without an option'],
  max_target_seqs: [BLAST, '--limit (-l)'],
  'max-target-seqs': [DIAMOND, '--limit (-l)'],
  k: [DIAMOND, '--limit (-l)'],
  'max-seqs': [MMSEQS, '--limit (-l)'],
  num_alignments: [BLAST, '--limit (-l)'],
  num_descriptions: [BLAST, '--limit (-l)'],
  num_threads: [BLAST, '--threads'],
  p: [DIAMOND, '--threads'],
  qcov_hsp_perc: [BLAST, '--min-query-coverage, such as 50%'],
  'query-cover': [DIAMOND, '--min-query-coverage, such as 50%'],
  'subject-cover': [DIAMOND, '--min-target-coverage, such as 50%'],
  c: [MMSEQS, '--min-query-coverage or --min-target-coverage'],
  'cov-mode': [MMSEQS, '--min-query-coverage or --min-target-coverage'],
  id: [DIAMOND, '--min-identity, such as 30%'],
  perc_identity: [BLAST, '--min-identity, such as 30%'],
  'min-seq-id': [MMSEQS, '--min-identity'],
  taxids: [BLAST, "--filter 'taxid under 562'"],
  taxonlist: [DIAMOND, "--filter 'taxid under 562'"],
  'taxon-list': [MMSEQS, "--filter 'taxid under 562'"],
  s: [
    MMSEQS,
    'nothing: no sensitivity has to be chosen. --guarantee exhaustive compares every protein in full',
  ],
  sensitive: [DIAMOND, '--guarantee exhaustive, which compares every protein in full'],
  'more-sensitive': [DIAMOND, '--guarantee exhaustive, which compares every protein in full'],
  'very-sensitive': [DIAMOND, '--guarantee exhaustive, which compares every protein in full'],
  'ultra-sensitive': [DIAMOND, '--guarantee exhaustive, which compares every protein in full'],
  fast: [DIAMOND, 'nothing: --guarantee approximate is the default'],
  'num-iterations': [MMSEQS, 'nothing: a database that was built with --homologs is searched with profiles'],
  num_iterations: [BLAST, 'nothing: a database that was built with --homologs is searched with profiles'],
  'format-mode': [MMSEQS, '--format-output query,target,fident,evalue'],
  'alignment-mode': [MMSEQS, '--alignments (-a), which draws them'],
  'query-gencode': [DIAMOND, 'nothing: queries are proteins, not nucleotides'],
  word_size: [BLAST, 'nothing: no words are looked up'],
  matrix: [BLAST, 'nothing: each encoder has its own scores'],
};

/** Commands with the options of a search. */
const SEARCH_COMMANDS: ReadonlySet<string> = new Set(['search', 'submit', 'export']);
const UNKNOWN = /error: unknown option '(-+)([^'=]*)[^']*'/;

/** Gives messages about unknown options the option that was probably meant. */
export function explainOptionErrors(command: Command): void {
  command.configureOutput({
    outputError: (text, write) => {
      const [, dashes, name] = UNKNOWN.exec(text) ?? [];
      const meant = name === undefined ? undefined : meantOption(command, dashes, name);
      write(meant === undefined ? text : `${text.split('\n', 1)[0].replace(/ ?\(Did.*/, '')}\n${meant}\n`);
    },
  });
}

/**
 * Ends the process with a hint at a long option of BLAST with one dash: the parser would read `-evalue` as `-e valu`.
 */
export function refuseForeignOption(program: Command, words: readonly string[]): void {
  const command = commandOf(program, words);
  if (!SEARCH_COMMANDS.has(command.name())) return;
  const end = words.indexOf('--');
  for (const word of end < 0 ? words : words.slice(0, end)) {
    const [, name] = /^-([a-z][a-z_]+)(?:=.*)?$/.exec(word) ?? [];
    if (name === undefined || !Object.hasOwn(FOREIGN_OPTIONS, name)) continue;
    command.error(`error: unknown option '${word}'`, { code: 'commander.unknownOption' });
  }
}

function commandOf(program: Command, words: readonly string[]): Command {
  const [word, ...rest] = words;
  const named = program.commands.find((each) => each.name() === word);
  return named === undefined ? program : commandOf(named, rest);
}

/** A sentence about the option that was meant; undefined where nothing is near. */
function meantOption(command: Command, dashes: string, name: string): string | undefined {
  if (SEARCH_COMMANDS.has(command.name()) && Object.hasOwn(FOREIGN_OPTIONS, name)) {
    const [programs, here] = FOREIGN_OPTIONS[name];
    const isNeedless = here.startsWith(NEEDLESS);
    const meaning = isNeedless ? `it is not needed: ${here.slice(NEEDLESS.length)}` : `it is ${here}`;
    return `(${dashes}${name} is an option of ${programs}. Here ${meaning}.)`;
  }
  const names = command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long }) => (long === undefined || long === null ? [] : [long.slice(2)]));
  const inside = names.filter(
    (each) =>
      name.length >= 3 && (each.includes(name) || each.split('-').some((part) => distance(part, name) < 2)),
  );
  const near = names.length === 0 ? '' : closest(name, names);
  const isNear = distance(name, near) <= Math.max(1, Math.floor(name.length / 3));
  const meant = isNear ? [near] : inside;
  return meant.length === 0 ? undefined : `(Did you mean ${meant.map((each) => `--${each}`).join(' or ')}?)`;
}
