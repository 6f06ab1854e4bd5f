import type { Command } from 'commander';
import { openAppliance, type Appliance } from '../../appliance.js';
import { buildDemo, DEMO_SLUG, demoProteins } from '../../demo/demo.js';
import { foundHomologs, selfCheckOf, type SelfCheck } from '../../demo/check.js';
import type { SimulatedDatabase } from '../../demo/simulate.js';
import { loadConfig, type ApplianceConfig } from '../../config.js';
import { newId } from '../../ids.js';
import type { RequestContext } from '../../services/context.js';
import type { CommandContext } from '../terminal/command.js';
import { adoptReleases } from '../../pipelines/catalog.js';
import { ownDataFolder } from '../../store/owner.js';
import { isStorageUnavailable } from '../../store/unavailable.js';
import { programName } from '../terminal/program-name.js';
import { createProgress } from '../terminal/progress.js';
import { checkAddresses, isLoopbackHost } from './address.js';
import { createLog } from './log.js';
import { serve, type RunningServer } from './serve.js';
import { createServiceManager } from './service-manager.js';

const STOP_GRACE_MS = 30_000;
const DEMO_ORGANIZATION = 'default';

/** `gloaming start`, which `npm start` runs, to try the program; `gloaming serve` for service managers. */
export function register(program: Command, context: CommandContext): void {
  program
    .command('start')
    .description('try it out: builds a demo database where there is none, makes a key, serves over HTTP')
    .action(() => start(context));
  program
    .command('serve')
    .description('serve over HTTP what has been built, for a service manager: no demo, no keys')
    .action(() => serveAsService(context));
}

async function start(context: CommandContext): Promise<void> {
  const demo = demoProteins();
  await runServer(context, {
    prepare: (appliance) => buildDemoIfEmpty(appliance, demo, context),
    announce: (appliance, server) => welcome(appliance, server, selfCheckOf(demo), context),
  });
}

/** Adopts release folders that other means have put in place. Builds nothing. */
async function serveAsService(context: CommandContext): Promise<void> {
  const manager = createServiceManager(context.environment);
  await runServer(context, {
    async prepare({ config, releases }) {
      await adoptReleases(config.indexesFolder, releases);
    },
    async announce({ serverVersion, backend }, { url }) {
      const kernels = `${backend.variant} kernels`;
      context.stdout.write(`Gloaming ${serverVersion} serves on ${url} (${kernels})\n`);
      await manager.ready();
    },
    onStop: () => manager.stopping(),
  });
}

interface Serving {
  /** Work before the server listens. */
  prepare(appliance: Appliance): Promise<void>;
  announce(appliance: Appliance, server: RunningServer): Promise<void>;
  onStop?(): void;
}

async function runServer(context: CommandContext, serving: Serving): Promise<void> {
  const config = loadConfig(context.environment);
  // Ports are checked before the build of the demo, which takes a while.
  await checkAddresses(config);
  const disown = await ownDataFolder(config.dataFolder);
  try {
    await serveAppliance(context, serving, config);
  } finally {
    await disown();
  }
}

async function serveAppliance(
  context: CommandContext,
  serving: Serving,
  config: ApplianceConfig,
): Promise<void> {
  const appliance = await openAppliance(config);
  try {
    await serving.prepare(appliance);
    const server = await serve(appliance, createLog(config.logLevel, 2));
    try {
      // A service manager may stop the server as soon as it is announced.
      const stopped = untilStopped();
      await serving.announce(appliance, server);
      await stopped;
      serving.onStop?.();
      context.stdout.write('Stopping: requests in progress finish first.\n');
    } finally {
      await server.stop(STOP_GRACE_MS);
    }
  } finally {
    await appliance.close();
  }
}

/** Builds the demo unless the lab has databases of its own. */
async function buildDemoIfEmpty(
  appliance: Appliance,
  demo: SimulatedDatabase,
  context: CommandContext,
): Promise<void> {
  const { config, releases } = appliance;
  // The folders are authoritative: the catalog may be lost or older.
  const scanned = await adoptReleases(config.indexesFolder, releases);
  if (scanned.releases.length > 0) return;
  const encoder = await appliance.loadEncoder(config.encoder);
  const progress = createProgress(context.stderr);
  try {
    const { release } = await buildDemo(demo, encoder, config.indexesFolder, progress.update);
    await appliance.storeEncoder(config.encoder);
    await releases.publish({
      id: release.id,
      slug: DEMO_SLUG,
      publishedAt: new Date().toISOString(),
      manifest: release.manifest,
    });
  } finally {
    progress.end();
    await encoder.close();
  }
}

/** Prints what a newcomer needs: address, key, a request to try, and whether a search works. */
async function welcome(
  appliance: Appliance,
  { url }: RunningServer,
  check: SelfCheck,
  { stdout, environment }: CommandContext,
): Promise<void> {
  const { config, releases } = appliance;
  stdout.write(
    `Gloaming ${appliance.serverVersion} serves on ${url} (${appliance.backend.variant} kernels)\n`,
  );
  const demo = releases.databases().find(({ slug }) => slug === DEMO_SLUG);
  if (demo !== undefined) stdout.write(`${await selfCheck(appliance, check).catch(whyUnchecked)}\n`);
  if (!isLoopbackHost(config.host)) {
    stdout.write('Others can reach this address: make keys with "gloaming keys create <name>".\n');
    return;
  }
  stdout.write(`${await demoKeyLine(appliance, stdout.isTTY === true, programName(environment))}\n`);
  if (demo !== undefined) {
    const body = JSON.stringify({
      query: { kind: 'protein_sequence', sequence: check.query.sequence },
      database: DEMO_SLUG,
      limit: 5,
    });
    const headers = `-H "Authorization: Bearer $GLOAMING_API_KEY" -H 'Content-Type: application/json'`;
    stdout.write(`\nTry:\ncurl -s ${url}/v1/homology ${headers} -d '${body}'\n\n`);
  }
  stdout.write(`Documentation: ${url}/docs   Stop: Ctrl-C\n`);
}

/**
 * Shows the demo key once, and on a terminal only, because more people read a log than a screen. The key survives a
 * restart.
 */
async function demoKeyLine({ keys }: Appliance, isTerminal: boolean, program: string): Promise<string> {
  const another = `export GLOAMING_API_KEY=$(${program} keys create me)`;
  if (keys.hasDemoKey()) return `API key: the one that the first start showed; for another: ${another}`;
  if (!isTerminal) return `API key: make one with ${another}`;
  try {
    const { key } = await keys.create('demo', DEMO_ORGANIZATION, { isDemo: true });
    return `API key, shown only now: export GLOAMING_API_KEY=${key}`;
  } catch (error) {
    if (!isStorageUnavailable(error)) throw error;
    return `No demo key was made: ${(error as Error).message} What is there is served.`;
  }
}

/** Explains a failed self-check. A full disk stores no receipt, and the server works all the same. */
function whyUnchecked(error: unknown): string {
  if (!isStorageUnavailable(error)) throw error;
  return `No self-check was made: ${(error as Error).message}`;
}

/** Runs the first search, with a simulated protein whose true homologs are known. */
async function selfCheck({ homology, servedFrom }: Appliance, check: SelfCheck): Promise<string> {
  const context: RequestContext = {
    requestId: newId('req'),
    organizationId: DEMO_ORGANIZATION,
    keyId: 'local',
    signal: new AbortController().signal,
    receivedAtMs: performance.now(),
  };
  const { value } = await homology.search(
    {
      query: { kind: 'protein_sequence', sequence: check.query.sequence },
      database: DEMO_SLUG,
      limit: check.homologs.length + 1,
      evidence: 'candidate_measurement',
      guarantee: 'exhaustive',
      significance: 'not_requested',
    },
    context,
  );
  const found = foundHomologs(
    check,
    value.candidates.map(({ target }) => target.id),
  );
  const { searched_target_count: searched } = value.database;
  return (
    `Self-check on ${servedFrom}: the first search found ${found} of ${check.homologs.length} true homologs of ` +
    `${check.query.id} among ${searched} simulated proteins, in ${value.performance.search_execution_ms} ms.`
  );
}

function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
  });
}
