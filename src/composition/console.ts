import { readCalibrationCard } from '../significance/sidecar.js';
import { selfCheckOf } from '../demo/check.js';
import { EXAMPLES } from '../demo/example.js';
import { simulatedProteins } from '../demo/simulated.js';
import { createConsole, type Console } from '../services/console/console.js';
import { Sessions } from '../services/console/sessions.js';
import type { Keys } from '../services/keys.js';
import type { Foundation } from './foundation.js';
import { releaseFolder, type SearchCapability } from './search.js';

export function composeConsole(
  foundation: Foundation,
  keys: Keys,
  { catalog, engines }: Pick<SearchCapability, 'catalog' | 'engines'>,
): Console {
  const { config, backend, tables, serverVersion, world } = foundation;
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
    // The homologs of simulated proteins are known by construction. Their example is the query of the self-check.
    exampleOf: ({ manifest }) =>
      manifest.is_simulated ? selfCheckOf(simulatedProteins()).query.id : EXAMPLES[0].id,
    readCalibration: (releaseId) => readCalibrationCard(releaseFolder(foundation, releaseId)),
  });
}
