import type { Browser, Page } from 'playwright-core';
import type { SimulatedDatabase } from '#src/demo/simulate.js';
import { lineageOf } from '#src/release/taxonomy.js';
import { openDemoAppliance } from '../tools/demo-appliance.js';
import { serveInProcess, type ServedProcess } from '../tools/served-process.js';
import { launch, watchedPage, type WatchedPage } from './browser.js';

/** A server process with simulated proteins. The test can kill and restart it. */
export interface ServedConsole {
  readonly url: string;
  readonly key: string;
  /** Token of a link that signs the operator in. */
  readonly link: string;
  readonly ids: readonly string[];
  readonly sequences: readonly string[];
  /** A taxon above some of the proteins, and the organisms below it. */
  readonly clade: Clade;
  /** Environment of commands on the same appliance. */
  readonly environment: Readonly<Record<string, string>>;
  kill(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** A simulated database. */
interface Simulated {
  readonly seed: number;
  readonly proteins: number;
}

interface Clade {
  readonly taxon: string;
  readonly organisms: readonly string[];
  /** Number of proteins on and below the taxon. */
  readonly proteins: number;
}

/** A server, and a browser with one of its pages. */
export interface OpenedConsole extends WatchedPage {
  readonly served: ServedConsole;
  readonly browser: Browser;
  close(): Promise<void>;
}

/**
 * Starts server and browser.
 * @param timeoutMs bound on every wait for the page
 * @param simulated the database
 */
export async function openConsole(timeoutMs: number, simulated?: Simulated): Promise<OpenedConsole> {
  const served = await serveConsole({}, simulated);
  const browser = await launch();
  const watched = await watchedPage(browser, served.url);
  watched.page.setDefaultTimeout(timeoutMs);
  const close = async (): Promise<void> => {
    await browser.close();
    await served.close();
  };
  return { ...watched, served, browser, close };
}

/** Signs the page in with the key, and waits for the form of a search. */
export async function signIn(page: Page, { url, key }: Pick<ServedConsole, 'url' | 'key'>): Promise<void> {
  await page.goto(`${url}/console/`);
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Find the homologs of a protein' }).waitFor();
}

/**
 * Starts the server.
 * @param settings of appliance.json, in addition to those of the environment
 * @param simulated the database
 */
export async function serveConsole(
  settings: Readonly<Record<string, unknown>> = {},
  simulated: Simulated = { seed: 11, proteins: 60 },
): Promise<ServedConsole> {
  const { appliance, demo, environment, sequences, keyOf, remove } = await openDemoAppliance({
    ...simulated,
    settings,
  });
  const key = await keyOf('lab');
  const link = await appliance.console.sessions.newLink('lab');
  await appliance.close();

  let served: ServedProcess = serveInProcess(environment);
  const url = await served.listening;
  const kill = async (): Promise<void> => {
    const exited = new Promise((resolve) => served.server.once('exit', resolve));
    served.server.kill('SIGKILL');
    await exited;
  };
  return {
    url,
    key,
    link,
    ids: demo.proteins.map(({ id }) => id),
    sequences,
    clade: cladeOf(demo),
    environment,
    kill,
    async start() {
      served = serveInProcess({ ...environment, GLOAMING_PORT: new URL(url).port });
      await served.listening;
    },
    async close() {
      await kill();
      remove();
    },
  };
}

/** The largest taxon that does not contain all proteins. */
function cladeOf({ proteins, taxonomy }: SimulatedDatabase): Clade {
  const tree = new Map(taxonomy.nodes.map((node) => [node.taxid, node]));
  const clades = taxonomy.nodes.map(({ taxid, name }) => {
    const own = proteins.filter((protein) =>
      lineageOf(tree, protein.taxid).some((taxon) => taxon.taxid === taxid),
    );
    return { taxon: name, organisms: own.map(({ organism }) => organism), proteins: own.length };
  });
  const [largest] = clades
    .filter(({ proteins: count }) => count < proteins.length)
    .sort((a, b) => b.proteins - a.proteins);
  return largest!;
}
