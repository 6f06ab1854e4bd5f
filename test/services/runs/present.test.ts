// @module-tag fast

import { expect, it } from 'vitest';
import { RUN_WAIT_MAX_SECONDS } from '#src/limits.js';
import { preferenceApplied, waitOf } from '#src/services/runs/present.js';

it.each([
  [undefined, undefined],
  ['', undefined],
  ['return=minimal', undefined],
  ['respond-async', 0],
  ['wait=0', 0],
  ['wait=5', 5],
  ['WAIT = "5"', 5],
  ['respond-async, wait=5', 5],
  ['wait=999999', RUN_WAIT_MAX_SECONDS],
  ['wait=-1', undefined],
  ['wait=1e3', undefined],
])('the preference %s is a wait of %s seconds', (prefer, seconds) => {
  expect(waitOf(prefer)).toBe(seconds);
});

it('only an applied preference is named', () => {
  expect(preferenceApplied('wait=999999', RUN_WAIT_MAX_SECONDS)).toEqual({
    'Preference-Applied': `wait=${RUN_WAIT_MAX_SECONDS}`,
  });
  expect(preferenceApplied('respond-async', 0)).toEqual({ 'Preference-Applied': 'respond-async' });
  expect(preferenceApplied('return=minimal', 60)).toEqual({});
});
