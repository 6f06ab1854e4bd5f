import type { Command } from 'commander';
import { openAppliance, type Appliance } from '../../appliance.js';
import { loadConfig, type ApplianceConfig } from '../../config.js';
import type { CommandContext } from '../terminal/command.js';
import { serverUrl } from '../terminal/server-url.js';
import { adoptReleases } from '../../pipelines/catalog.js';
import { noteAddress, ownDataFolder } from '../../store/owner.js';
import { checkAddresses } from './address.js';
import { buildFirstDatabase } from './first-database.js';
import { calibrateDemoLater, isDemoUncalibrated } from './later-calibration.js';
import { createServerLog } from './log.js';
import { serve, type RunningServer } from './serve.js';
import { createServiceManager } from './service-manager.js';
import { welcome } from './welcome.js';

const STOP_GRACE_MS = 30_000;

interface Options {
  readonly verbose?: boolean;
}

interface StartOptions extends Options {
  readonly simulated?: boolean;
}

/** `gloaming start`, which `npm start` runs, to try the program; `gloaming serve` for service managers. */
export function register(program: Command, context: CommandContext): void {
  program
    .command('start')
    .description('try it out: builds a demo database where there is none, makes a key, serves over HTTP')
    .option('--simulated', 'the first database is of simulated proteins, whose homologs are known')
    .option('--verbose', 'a line for each request on the terminal')
    .action((options: StartOptions) => start(options, context));
  program
    .command('serve')
    .description('serve over HTTP what has been built, for a service manager: no demo, no keys')
    .option('--verbose', 'a line for each request on the terminal')
    .action((options: Options) => serveAsService(options, context));
}

async function start(
  { simulated = false, ...options }: StartOptions,
  context: CommandContext,
): Promise<void> {
  let stopCalibration = (): void => undefined;
  await runServer(options, context, {
    prepare: (appliance) => buildFirstDatabase(appliance, { isSimulated: simulated }, context),
    async announce(appliance, server) {
      const isLate = await isDemoUncalibrated(appliance);
      if (isLate) stopCalibration = calibrateDemoLater(appliance.config, context);
      await welcome(appliance, server, context);
    },
    onStop: () => stopCalibration(),
  });
}

/** Adopts release folders that other means have put in place. Builds nothing. */
async function serveAsService(options: Options, context: CommandContext): Promise<void> {
  const manager = createServiceManager(context.environment);
  await runServer(options, context, {
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
  /** Called once when the server stops, for whatever reason. */
  onStop(): void;
}

async function runServer(
  { verbose = false }: Options,
  context: CommandContext,
  serving: Serving,
): Promise<void> {
  const settings = loadConfig(context.environment);
  const config = { ...settings, isLogLevelSet: settings.isLogLevelSet || verbose };
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
    const server = await serve(appliance, createServerLog(config, context));
    const forgetAddress = noteAddress(config.dataFolder, serverUrl(config, new URL(server.url).port));
    try {
      // A service manager may stop the server as soon as it is announced.
      const stopped = untilStopped();
      await serving.announce(appliance, server);
      await stopped;
      context.stdout.write('Stopping: requests in progress finish first.\n');
    } finally {
      serving.onStop();
      forgetAddress();
      await server.stop(STOP_GRACE_MS);
    }
  } finally {
    await appliance.close();
  }
}

function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
  });
}
