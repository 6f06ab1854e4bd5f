// @module-tag fast

import { describe, expect, it } from 'vitest';
import { Turns, type Lane } from '#src/services/webhooks/turns.js';

const SHARES = { endpoint: 2, organization: 3, all: 5 };
const lane = (organizationId: string, endpointId: string): Lane => ({ organizationId, endpointId });

/** Takes turns until none is left. */
function take(turns: Turns, maxCount = Infinity): Lane[] {
  const taken: Lane[] = [];
  for (let next = turns.next(); next !== undefined && taken.length < maxCount; next = turns.next()) {
    turns.begin(next);
    taken.push(next);
  }
  return taken;
}
const names = (lanes: readonly Lane[]): string => lanes.map(({ endpointId }) => endpointId).join(' ');

describe('turns', () => {
  it('go from organization to organization, and within each from endpoint to endpoint', () => {
    const turns = new Turns({ endpoint: 9, organization: 9, all: 9 });
    for (const each of ['a1', 'a2', 'a3']) turns.want(lane('a', each));
    turns.want(lane('b', 'b1'));
    turns.want(lane('c', 'c1'));
    expect(names(take(turns))).toBe('a1 b1 c1 a2 b1 c1 a3 b1 c1');
  });

  it('end with the share of an endpoint, of its organization, and of all', () => {
    const turns = new Turns(SHARES);
    turns.want(lane('a', 'a1'));
    expect(names(take(turns))).toBe('a1 a1');
    turns.want(lane('a', 'a2'));
    expect(names(take(turns))).toBe('a2');
    turns.want(lane('b', 'b1'));
    turns.want(lane('c', 'c1'));
    expect(names(take(turns))).toBe('b1 c1');
  });

  it('reserve a share of an organization for responsive endpoints', () => {
    const turns = new Turns({ endpoint: 2, organization: 4, ofAnswering: 2, all: 9 });
    for (const each of ['a1', 'a2', 'a3']) turns.want(lane('a', each));
    turns.want({ ...lane('a', 'a4'), hasAnswered: true });
    turns.want(lane('b', 'b1'));
    const taken = take(turns);
    expect(names(taken)).toBe('a1 b1 a2 b1 a4 a4');
    turns.end(lane('a', 'a4'));
    // After a response the lane keeps its place and takes a reserved turn.
    turns.want({ ...lane('a', 'a3'), hasAnswered: true });
    expect(names(take(turns))).toBe('a3');
  });

  it('are freed when an attempt ends, for the lane that waited longest', () => {
    const turns = new Turns(SHARES);
    for (const each of ['a1', 'a2']) turns.want(lane('a', each));
    turns.want(lane('b', 'b1'));
    const taken = take(turns);
    expect(names(taken)).toBe('a1 b1 a2 b1 a1');
    turns.end(taken[0]);
    expect(names(take(turns))).toBe('a2');
    for (const each of taken.slice(1)) turns.end(each);
    expect(turns.atWork('b')).toBe(0);
    expect(turns.atWork('a')).toBe(1);
  });

  it('skip resting endpoints, and queue an endpoint only once', () => {
    const turns = new Turns({ endpoint: 1, organization: 9, all: 9 });
    for (const each of ['a1', 'a2', 'a1']) turns.want(lane('a', each));
    turns.rest(lane('a', 'a2'));
    turns.rest(lane('b', 'b1'));
    expect(names(take(turns))).toBe('a1');
    turns.rest(lane('a', 'a1'));
    turns.end(lane('a', 'a1'));
    expect(turns.next()).toBeUndefined();
  });
});
