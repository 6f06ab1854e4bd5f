import { spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import type { Appliance } from '../../appliance.js';
import { DEMO_SLUG, isDemo } from '../../demo/demo.js';
import { releaseDirectory } from '../../release/catalog.js';
import { readCalibrationCard } from '../../significance/sidecar.js';
import type { CommandContext } from '../terminal/command.js';

/*
 * Calibration of a demo that a start has left without one: the encoder has no null, so that it takes minutes, or the
 * start was interrupted. Another process works on it at the lowest priority while the server answers without E-values.
 * The server opens the calibration when it is there.
 */

/** Whether the demo is there and has no calibration. Errors  those of readCalibrationCard */
export async function isDemoUncalibrated({
  config,
  releases,
}: Pick<Appliance, 'config' | 'releases'>): Promise<boolean> {
  const id = releases.database(DEMO_SLUG)?.defaultReleaseId;
  const demo = id === undefined ? undefined : releases.release(id, DEMO_SLUG);
  if (demo === undefined || !isDemo(demo.manifest)) return false;
  const directory = releaseDirectory(config.indexesFolder, DEMO_SLUG, demo.id);
  return (await readCalibrationCard(directory)) === undefined;
}

/**
 * Starts the calibration of the demo. A later start resumes an interrupted one.
 * @returns a function that ends the process
 */
export function calibrateDemoLater(
  { packageFolder }: Appliance['config'],
  { environment }: Pick<CommandContext, 'environment'>,
): () => void {
  const program = join(packageFolder, 'dist', 'src', 'cli', 'main.js');
  const child = spawn(process.execPath, [program, 'index', 'calibrate', DEMO_SLUG, '--no-qualification'], {
    env: environment,
    stdio: 'ignore',
  });
  // A failure leaves the demo without E-values, as its answers say.
  child.on('error', () => undefined);
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  return () => void child.kill('SIGTERM');
}
