import type { ApplianceConfig } from '../config.js';
import { backendChoiceOf, chooseBackend } from '../kernels/choose.js';
import type { KernelBackend } from '../kernels/kernels.js';
import { Pages } from '../services/pages.js';
import { openControlStore, type ControlStore } from '../store/control-store.js';
import { compactIfDue } from '../store/compact.js';
import { requireSoundControlState } from '../store/probe.js';
import { sealingKey } from '../store/secrets.js';
import { realWorld, type World } from '../world.js';
import { buildVersion, workerOn } from './identity.js';
import { openTables, type Tables } from './tables.js';

/** Foundation of every capability: settings, kernels, control state and clock. */
export interface Foundation {
  readonly config: ApplianceConfig;
  readonly backend: KernelBackend;
  readonly store: ControlStore;
  readonly tables: Tables;
  readonly sealingKey: Buffer;
  readonly pages: Pages;
  /** `0.1.0+<commit>`: the exact build. */
  readonly serverVersion: string;
  readonly workerOn: (kernels: string) => string;
  readonly world: World;
  /** The clock of the environment. */
  readonly now: () => Date;
}

/**
 * Opens settings, kernels and control state.
 * Errors  Fault if data folder, addon or configured device cannot be used
 */
export async function openFoundation(config: ApplianceConfig, world: World = realWorld): Promise<Foundation> {
  const backend = await chooseBackend(backendChoiceOf(config));
  await requireSoundControlState(config.dataFolder);
  await compactIfDue(config.dataFolder);
  const store = openControlStore(config.dataFolder, { hasReserve: true, world });
  const { now } = world;
  const seal = await sealingKey(store);
  return {
    config,
    backend,
    store,
    tables: openTables(store, config.dataFolder, now),
    sealingKey: seal,
    pages: new Pages(seal),
    serverVersion: buildVersion(config.packageFolder),
    workerOn,
    world,
    now,
  };
}
