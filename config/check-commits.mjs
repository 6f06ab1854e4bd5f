// Checks subject and body of the commits since the rule of config/STYLE.md exists: an imperative subject of at most 72
// characters, then a body that says why. Earlier commits stay as they are.
import { spawnSync } from 'node:child_process';

const LAST_UNCHECKED = 'fd0e1a746b266a1abe731233cb6fc89c34d95416';
const SUBJECT_MAX_CHARACTERS = 72;
const BODY_MIN_CHARACTERS = 30;
/** Imperatives that end like a participle. */
const IMPERATIVES = new Set(['add', 'bring', 'embed', 'feed', 'seed', 'shed', 'speed', 'string', 'need']);

const git = (...words) => spawnSync('git', words, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });

if (git('cat-file', '-e', `${LAST_UNCHECKED}^{commit}`).status !== 0) {
  process.stdout.write('skipped: the history of this clone does not reach back to the rule for commits\n');
} else {
  const { stdout } = git('log', '--no-merges', '-z', '--format=%h%n%B', `${LAST_UNCHECKED}..HEAD`);
  const commits = stdout.split('\0').filter((text) => text.trim() !== '');
  const faults = commits.flatMap(faultsOf);
  process.stdout.write(`${commits.length} commits, ${faults.length} faults\n`);
  for (const fault of faults) process.stdout.write(`${fault}\n`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}

function faultsOf(text) {
  const [hash, subject, ...rest] = text.split('\n');
  const body = rest.join('\n').trim();
  const verb = subject
    .replace(/^[\w ,/.-]{1,24}: /, '')
    .split(' ')[0]
    .toLowerCase();
  const faults = [
    [...subject].length > SUBJECT_MAX_CHARACTERS &&
      `the subject has more than ${SUBJECT_MAX_CHARACTERS} characters`,
    subject.endsWith('.') && 'the subject ends with a stop',
    /(ed|ing)$/.test(verb) &&
      !IMPERATIVES.has(verb) &&
      `the subject does not begin with an imperative: ${verb}`,
    body.length < BODY_MIN_CHARACTERS && 'the body does not say why',
  ];
  return faults.filter(Boolean).map((fault) => `${hash} ${subject}: ${fault}`);
}
