import type { Refs } from '../../services/refs.js';
import type { HandlersOf } from './handler.js';

export interface RefServices {
  readonly refs: Refs;
}

export function refHandlers({ refs }: RefServices): HandlersOf<'refs'> {
  return {
    'refs.resolve': ({ body }, context) => refs.resolve(body, context),
  };
}
