import { join, relative } from 'node:path';
import type { Appliance } from '../../appliance.js';
import { selfCheckOf } from '../../demo/check.js';
import { DEMO_SLUG, examplesFolder, isDemo } from '../../demo/demo.js';
import { readExample } from '../../demo/example.js';
import { SIMULATED_SLUG, simulatedProteins } from '../../demo/simulated.js';
import { isStorageUnavailable } from '../../store/unavailable.js';
import type { CommandContext } from '../terminal/command.js';
import { programName } from '../terminal/program-name.js';
import { isLoopbackHost } from './address.js';
import { consoleUrl } from './console.js';
import { checkByExample, checkBySimulation, DEMO_ORGANIZATION } from './self-check.js';
import type { RunningServer } from './serve.js';

/** Prints what a newcomer needs: address, console, searches to try, key, and whether a search works. */
export async function welcome(
  appliance: Appliance,
  { url }: RunningServer,
  { stdout, environment }: CommandContext,
): Promise<void> {
  const { config } = appliance;
  const isTerminal = stdout.isTTY === true;
  const program = programName(environment);
  const first = await firstSearch(appliance);
  const checked = first && (await first.check().catch(whyUnchecked));
  const isLocal = isLoopbackHost(config.host);
  const text = [
    `Gloaming ${appliance.serverVersion} serves on ${url} (${appliance.backend.variant} kernels)`,
    ...(checked === undefined ? [] : [checked]),
    '',
    ...(await browserLines(appliance, url, isTerminal, program)),
    ...(first === undefined ? [] : commandLines(config.packageFolder, first, program)),
    ...(isLocal
      ? await keyLines(appliance, isTerminal, program)
      : [`Others can reach this address: make keys with "${program} keys create <name>".`]),
    ...(isLocal && first !== undefined ? [curlLine(url, first)] : []),
    '',
    `Documentation: ${url}/docs   Stop: Ctrl-C`,
  ];
  stdout.write(`${text.join('\n')}\n`);
}

/** A search to try first, and a check that it works. */
interface FirstSearch {
  readonly slug: string;
  readonly sequence: string;
  /** FASTA file of the query, if there is one. */
  readonly file?: string;
  check(): Promise<string>;
}

/** Returns the first search of the database that a first start has built; undefined if it is not there. */
async function firstSearch(appliance: Appliance): Promise<FirstSearch | undefined> {
  const { config, releases } = appliance;
  const [demo] = releases.releases(DEMO_SLUG);
  if (demo !== undefined && isDemo(demo.manifest)) {
    const example = await readExample(config.packageFolder);
    const { sequence, queryFile: file } = example;
    return { slug: DEMO_SLUG, sequence, file, check: () => checkByExample(appliance, example) };
  }
  if (releases.database(SIMULATED_SLUG) === undefined) return undefined;
  const check = selfCheckOf(simulatedProteins());
  const { sequence } = check.query;
  return { slug: SIMULATED_SLUG, sequence, check: () => checkBySimulation(appliance, check) };
}

/** Shows a link on a terminal only, because more people read a log than a screen. */
async function browserLines(
  { config, console }: Appliance,
  url: string,
  isTerminal: boolean,
  program: string,
): Promise<readonly string[]> {
  if (!isTerminal) return [`In a browser: "${program} console" prints a link that signs one browser in.`, ''];
  try {
    const token = await console.sessions.newLink(DEMO_ORGANIZATION);
    return [
      'Open in a browser (once, within 15 minutes):',
      `${consoleUrl(config, new URL(url).port)}#/enter/${token}`,
      '',
    ];
  } catch (error) {
    if (!isStorageUnavailable(error)) throw error;
    return [`In a browser: ${consoleUrl(config, new URL(url).port)}`, ''];
  }
}

function commandLines(
  packageFolder: string,
  { slug, file }: FirstSearch,
  program: string,
): readonly string[] {
  if (file === undefined) return [];
  const table = join(examplesFolder(packageFolder), 'finds.md');
  return [
    'On the command line:',
    `${program} search ${pathFromHere(file)} --database ${slug}`,
    `The finds beside those of BLASTP and MMseqs2: ${pathFromHere(table)}`,
    '',
  ];
}

/** Returns the path of a file below the working directory as a relative one. */
function pathFromHere(path: string): string {
  const short = relative(process.cwd(), path);
  return short.startsWith('..') ? path : short;
}

function curlLine(url: string, { slug, sequence }: FirstSearch): string {
  const body = JSON.stringify({ query: { kind: 'protein_sequence', sequence }, database: slug, limit: 5 });
  const headers = `-H "Authorization: Bearer $GLOAMING_API_KEY" -H 'Content-Type: application/json'`;
  return `curl -s ${url}/v1/homology ${headers} -d '${body}'`;
}

/** Shows the demo key once, and on a terminal only. The key survives a restart. */
async function keyLines(
  { keys }: Appliance,
  isTerminal: boolean,
  program: string,
): Promise<readonly string[]> {
  const another = `export GLOAMING_API_KEY=$(${program} keys create me)`;
  if (keys.hasDemoKey()) {
    return ['Over HTTP, with the API key that the first start showed. For another key:', another];
  }
  if (!isTerminal) return ['Over HTTP, with an API key:', another];
  try {
    const { key } = await keys.create('demo', DEMO_ORGANIZATION, { isDemo: true });
    return ['Over HTTP, with an API key that is shown only now:', `export GLOAMING_API_KEY=${key}`];
  } catch (error) {
    if (!isStorageUnavailable(error)) throw error;
    return [`No demo key was made: ${(error as Error).message} What is there is served.`];
  }
}

/** Explains a failed self-check. A full disk stores no receipt, and the server works all the same. */
function whyUnchecked(error: unknown): string {
  if (!isStorageUnavailable(error)) throw error;
  return `No self-check was made: ${(error as Error).message}`;
}
