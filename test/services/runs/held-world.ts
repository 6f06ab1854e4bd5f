import { realWorld, type World } from '#src/world.js';

/** A world whose timers fire, and whose time passes, when the test calls it. */
export function heldWorld() {
  const timers = new Set<{ readonly ms: number; readonly work: () => void }>();
  const held = { atMs: 0, timers };
  const setTimer: World['setTimer'] = (ms, work) => {
    const timer = { ms, work };
    timers.add(timer);
    return () => timers.delete(timer);
  };
  return { held, world: { ...realWorld, setTimer, monotonicMs: () => held.atMs } };
}
