import { cached } from './cached.js';
import { startServer, stopServer, type Figures, type Server } from './child.js';
import { endurance } from './endurance.js';
import { idle } from './idle.js';
import { overloaded } from './overload.js';
import type { Bench } from '../main.js';

/*
 * How much does the HTTP shell add to a search? The parts are small cached searches at a fixed rate, idle connections,
 * and an overload of ten times the capacity. The part `endurance` runs ten minutes of searches and measures memory
 * growth.
 *
 * Options: cached, idle, overload, endurance; default: the first three
 */

const PARTS: Readonly<Record<string, (server: Server) => Promise<Figures>>> = {
  cached,
  idle,
  overload: overloaded,
  endurance,
};

export const run: Bench = async (options) => {
  const chosen = options.length === 0 ? ['cached', 'idle', 'overload'] : options;
  const server = await startServer('server.js');
  try {
    const figures: Record<string, number> = {};
    for (const part of chosen) {
      const measure = PARTS[part] as (typeof PARTS)[string] | undefined;
      if (measure === undefined) throw new Error(`${part} is not one of ${Object.keys(PARTS).join(', ')}.`);
      Object.assign(figures, await measure(server));
    }
    return figures;
  } finally {
    await stopServer(server);
  }
};
