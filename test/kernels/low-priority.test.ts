import { expect, test } from 'vitest';
import { nativeBackend } from '#src/kernels/native.js';
import { seededRandom } from '#src/random.js';
import { randomSource, randomTokens } from './random-tokens.js';

/* Low-priority calls yield to others and give the same bits. */

const seed = Number(process.env.GLOAMING_SEED ?? Date.now() % 1_000_000);
console.log(`background kernels: seed ${seed}`);

const random = seededRandom(seed);
const dimension = 96;
const backend = nativeBackend();
const source = randomSource(
  random,
  Array.from({ length: 1_500 }, (_, index) => 40 + (index % 400)),
  dimension,
);
const many = Array.from({ length: 24 }, (_, index) => randomTokens(random, 100 + 10 * index, dimension));
const one = [randomTokens(random, 120, dimension)];

test('a low-priority call ends after later calls, with the bits that it gives alone', async () => {
  const store = await backend.open(source);
  const alone = await backend.maxsim(store, many, undefined, { threads: 2 });
  const order: string[] = [];
  const lowPriority = backend.maxsim(store, many, undefined, { threads: 2, isLowPriority: true });
  void lowPriority.then(() => order.push('background'));
  const answers = await Promise.all(
    [1, 2, 3].map(async (threads) => {
      const answer = await backend.maxsim(store, one, undefined, { threads });
      order.push('foreground');
      return answer;
    }),
  );
  expect(await lowPriority).toEqual(alone);
  expect(order).toEqual(['foreground', 'foreground', 'foreground', 'background']);
  for (const answer of answers) expect(answer).toEqual(answers[0]);
  store.close();
});

test('a low-priority call ends even if other calls follow without a pause', async () => {
  const store = await backend.open(source);
  const few = many.slice(0, 2);
  const alone = await backend.maxsim(store, few, undefined, { threads: 2 });
  let hasEnded = false;
  const lowPriority = backend.maxsim(store, few, undefined, { threads: 2, isLowPriority: true });
  void lowPriority.then(() => (hasEnded = true));
  // Two calls at a time, so that one always waits.
  const keepBusy = async () => {
    while (!hasEnded) await backend.maxsim(store, one, undefined, { threads: 2 });
  };
  await Promise.all([keepBusy(), keepBusy()]);
  expect(await lowPriority).toEqual(alone);
  store.close();
});

test('a call that has yielded can be cancelled, and other calls continue', async () => {
  const store = await backend.open(source);
  const controllers = [new AbortController(), new AbortController()];
  const abandoned = controllers.map(({ signal }) =>
    backend.maxsim(store, many, undefined, { threads: 2, isLowPriority: true, signal }),
  );
  const lasting = backend.maxsim(store, one, undefined, { threads: 2, isLowPriority: true });
  const ordinary = Array.from({ length: 8 }, () => backend.maxsim(store, one, undefined, { threads: 2 }));
  for (const controller of controllers) controller.abort(new Error('not wanted'));
  for (const call of abandoned) await expect(call).rejects.toThrow('not wanted');
  const [first] = await Promise.all(ordinary);
  expect(await lasting).toEqual(first);
  store.close();
});
