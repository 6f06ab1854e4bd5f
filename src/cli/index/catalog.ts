import { loadConfig } from '../../config.js';
import { openCatalog, type IndexCatalog } from '../../pipelines/catalog.js';
import type { CommandContext } from '../terminal/command.js';

/** Opens the catalog of the configured appliance for a command. Errors  those of openCatalog and the work */
export function withCatalog<Result>(
  context: CommandContext,
  work: (catalog: IndexCatalog) => Promise<Result>,
): Promise<Result> {
  return openCatalog(loadConfig(context.environment), work);
}
