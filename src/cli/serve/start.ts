import type { Command } from 'commander';
import { openAppliance, type Appliance } from '../../appliance.js';
import { buildDemo, DEMO_SLUG, demoProteins } from '../../demo/demo.js';
import { foundRelatives, selfCheckOf, type SelfCheck } from '../../demo/check.js';
import type { SimulatedDatabase } from '../../demo/simulate.js';
import { loadConfig } from '../../config.js';
import { newId } from '../../ids.js';
import type { RequestContext } from '../../services/context.js';
import type { CommandContext } from '../terminal/command.js';
import { adoptReleases } from '../index/catalog.js';
import { isStorageUnavailable } from '../../store/unavailable.js';
import { createProgress } from '../terminal/progress.js';
import { createLog } from './log.js';
import { serve, type RunningServer } from './serve.js';

const STOP_GRACE_MS = 30_000;
const LOOPBACK_HOSTS = new Set(['127.0.0.1', '::1', 'localhost']);
const DEMO_ORGANIZATION = 'default';

/** `gloaming start`: what `npm start` runs. */
export function register(program: Command, context: CommandContext): void {
  program
    .command('start')
    .alias('serve')
    .description('serve over HTTP; builds the demo database first where it is missing')
    .action(() => start(context));
}

async function start(context: CommandContext): Promise<void> {
  const config = loadConfig(context.environment);
  const appliance = await openAppliance(config);
  try {
    const demo = demoProteins();
    await buildDemoIfMissing(appliance, demo, context);
    const server = await serve(appliance, createLog(config.logLevel, 2));
    await welcome(appliance, server, selfCheckOf(demo), context);
    await untilStopped();
    context.stdout.write('Stopping: requests at work are finished first.\n');
    await server.stop(STOP_GRACE_MS);
  } finally {
    await appliance.close();
  }
}

async function buildDemoIfMissing(
  appliance: Appliance,
  demo: SimulatedDatabase,
  context: CommandContext,
): Promise<void> {
  const { config, releases } = appliance;
  // The folders are the truth: the catalog may be lost, or older than they are.
  const scanned = await adoptReleases(config.indexesFolder, releases);
  if (scanned.releases.some(({ slug }) => slug === DEMO_SLUG)) return;
  const encoder = await appliance.loadEncoder(config.encoder);
  const progress = createProgress(context.stderr);
  try {
    const { release } = await buildDemo(demo, encoder, config.indexesFolder, progress.update);
    await appliance.keepEncoder(config.encoder);
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

/** What a newcomer needs: where it is, a key, a line to try, and whether it works. */
async function welcome(
  appliance: Appliance,
  { url }: RunningServer,
  check: SelfCheck,
  { stdout }: CommandContext,
): Promise<void> {
  const { keys, config } = appliance;
  stdout.write(
    `Gloaming ${appliance.serverVersion} serves on ${url} (${appliance.backend.variant} kernels)\n`,
  );
  stdout.write(`${await selfCheck(appliance, check).catch(whyUnchecked)}\n`);
  if (!LOOPBACK_HOSTS.has(config.host)) {
    stdout.write('Others can reach this address: make keys with "gloaming keys create <name>".\n');
    return;
  }
  const key = await newDemoKey(keys).catch((error: unknown) => {
    if (!isStorageUnavailable(error)) throw error;
    stdout.write(`No demo key was made: ${(error as Error).message} What is there is served.\n`);
  });
  if (key === undefined) return;
  const body = JSON.stringify({
    query: { kind: 'protein_sequence', sequence: check.query.sequence },
    database: DEMO_SLUG,
    limit: 5,
  });
  stdout.write(`API key: ${key}\n\nTry:\n`);
  stdout.write(
    `curl -s ${url}/v1/homology -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${body}'\n\n`,
  );
  stdout.write(`Documentation: ${url}/docs   Stop: Ctrl-C\n`);
}

/** A full disk keeps no receipts; what is there is served all the same. */
function whyUnchecked(error: unknown): string {
  if (!isStorageUnavailable(error)) throw error;
  return `No self-check was made: ${(error as Error).message}`;
}

async function newDemoKey(keys: Appliance['keys']): Promise<string> {
  await keys.revokeDemoKeys();
  return (await keys.create('demo', DEMO_ORGANIZATION, true)).key;
}

/** The first search, of a simulated protein whose true relatives are known. */
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
      limit: check.relatives.length + 1,
      evidence: 'candidate_measurement',
      guarantee: 'exhaustive',
      significance: 'not_requested',
    },
    context,
  );
  const found = foundRelatives(
    check,
    value.candidates.map(({ target }) => target.id),
  );
  const { searched_target_count: searched } = value.database;
  return (
    `Self-check on ${servedFrom}: the first search found ${found} of ${check.relatives.length} true relatives of ` +
    `${check.query.id} among ${searched} simulated proteins, in ${value.performance.search_execution_ms} ms.`
  );
}

function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
  });
}
