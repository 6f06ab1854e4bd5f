import type { Command } from 'commander';

/* Unknown commands that are commands of other programs, or other words for a command here. */

const BLAST = 'BLAST';
const DIAMOND = 'DIAMOND';
const HMMER = 'HMMER';
const MMSEQS = 'MMseqs2';
const HHSUITE = 'HH-suite';

const SEARCH = 'gloaming search';
const BUILD = 'gloaming index build';
const ANNOTATE = 'gloaming annotate';
const CLUSTER = 'gloaming cluster';

/** Commands of other programs, and the command here. */
const FOREIGN_COMMANDS: Readonly<Record<string, readonly [program: string, here: string]>> = {
  blastp: [BLAST, SEARCH],
  psiblast: [BLAST, SEARCH],
  makeblastdb: [BLAST, BUILD],
  makedb: [DIAMOND, BUILD],
  'easy-search': [MMSEQS, SEARCH],
  createdb: [MMSEQS, BUILD],
  'easy-cluster': [MMSEQS, CLUSTER],
  'easy-linclust': [MMSEQS, CLUSTER],
  phmmer: [HMMER, SEARCH],
  jackhmmer: [HMMER, SEARCH],
  hmmsearch: [HMMER, SEARCH],
  hmmscan: [HMMER, ANNOTATE],
  hmmbuild: [HMMER, BUILD],
  hhsearch: [HHSUITE, SEARCH],
  hhblits: [HHSUITE, SEARCH],
};

/** Other words for commands of a group. */
const SYNONYMS: Readonly<Record<string, string>> = { delete: 'remove', rm: 'remove', drop: 'remove' };

/**
 * Ends the process with a hint at the command that was probably meant. The parser would name the first unknown option
 * instead of the command.
 */
export function refuseForeignCommand(program: Command, [word = '', next = '']: readonly string[]): void {
  const named = program.commands.find((command) => command.name() === word);
  if (named === undefined) {
    if (!Object.hasOwn(FOREIGN_COMMANDS, word)) return;
    const [other, here] = FOREIGN_COMMANDS[word];
    refuse(program, word, `(${word} is a command of ${other}. Here it is "${here}".)`);
    return;
  }
  const has = (name: string): boolean => named.commands.some((command) => command.name() === name);
  if (has(next) || !Object.hasOwn(SYNONYMS, next) || !has(SYNONYMS[next])) return;
  refuse(named, next, `(Did you mean "gloaming ${word} ${SYNONYMS[next]}"?)`);
}

function refuse(command: Command, word: string, hint: string): void {
  command.error(`error: unknown command '${word}'\n${hint}`, { code: 'commander.unknownCommand' });
}
