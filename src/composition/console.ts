import { readCalibrationCard } from '../significance/sidecar.js';
import { selfCheckOf } from '../demo/check.js';
import { demoProteins } from '../demo/demo.js';
import { createConsole, type Console } from '../services/console/console.js';
import { Sessions } from '../services/console/sessions.js';
import type { Keys } from '../services/keys.js';
import type { Ground } from './ground.js';
import { releaseFolder, type SearchCapability } from './search.js';

export function composeConsole(
  ground: Ground,
  keys: Keys,
  { catalog, engines }: Pick<SearchCapability, 'catalog' | 'engines'>,
): Console {
  const { config, backend, tables, serverVersion, world } = ground;
  return createConsole({
    config,
    backend,
    usage: tables.usage,
    serverVersion,
    sessions: new Sessions(tables.sessions, keys, world, config.isConsoleOpen),
    isOpen: config.isConsoleOpen,
    keys,
    catalog,
    engines,
    // The homologs in the demo are known by construction. Its example is the query of its self-check.
    exampleOf: ({ manifest }) => (manifest.is_simulated ? selfCheckOf(demoProteins()).query.id : undefined),
    readCalibration: (releaseId) => readCalibrationCard(releaseFolder(ground, releaseId)),
  });
}
