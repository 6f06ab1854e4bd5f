import { afterAll, beforeAll, expect, it } from 'vitest';
import { writeNeighbours } from '../../tools/neighbours.js';
import { askSql, type SqlAnswer, type TestCredential } from '../../tools/sql-client.js';
import { HIDDEN_WORD, startSqlScene, type SqlScene } from '../../tools/sql-scene.js';

/* The table of neighbours, with two organizations. */

let scene: SqlScene;

beforeAll(async () => {
  scene = await startSqlScene();
});
afterAll(() => scene.close());

const ask = (credential: TestCredential, sql: string): Promise<SqlAnswer> => askSql(scene, credential, sql);

it('a world has the neighbours of the releases that the organization may see, as soon as there are any', async () => {
  const count = 'SELECT count(*) FROM neighbours';
  expect((await ask(scene.two, count)).rows).toEqual([[0]]);
  const { id, directory } = scene.small.release;
  const { edges } = await writeNeighbours(directory, id, 60, [
    { query: 3, target: 5, log: -2 },
    { query: 5, target: 3, log: -1_000 },
  ]);
  const { hidden } = scene;
  await writeNeighbours(hidden.directory, hidden.id, 2, [{ query: 1, target: 0, log: -4, end: 3 }]);
  const { columns, rows } = await ask(
    scene.one,
    'SELECT * FROM neighbours ORDER BY query_start, query_id, target_id',
  );
  expect(columns.map(({ name }) => name)).toEqual([
    ...['database', 'release_id', 'is_default_release', 'calibration_id', 'query_id', 'target_id', 'e_value'],
    ...['log_e_value', 'affine_score', 'query_start', 'query_end', 'target_start', 'target_end'],
  ]);
  const [three, five] = [3, 5].map((at) => scene.small.demo.proteins[at]!.id);
  const places = [70, 0, 9, 3, 9];
  const expected = [
    ['demo', id, true, 'calib_1', three, five, Math.exp(-2), -2, ...places],
    ['demo', id, true, 'calib_1', five, three, 0, -1_000, ...places],
  ];
  expect(new Set(rows.map(String))).toEqual(new Set(expected.map(String)));
  expect(
    (await ask(scene.two, 'SELECT "database", count(*) FROM neighbours GROUP BY ALL ORDER BY ALL')).rows,
  ).toEqual([
    ['demo', 2],
    ['hidden', 1],
  ]);
  expect((await ask(scene.two, 'SELECT query_id, query_end FROM hidden.neighbours')).rows).toEqual([
    [`${HIDDEN_WORD}_2`, 3],
  ]);
  // A graph that was computed anew takes the place of the one before it.
  const next = await writeNeighbours(directory, id, 60, [{ query: 0, target: 1, log: -1 }]);
  expect(next.edges.sha256).not.toBe(edges.sha256);
  expect((await ask(scene.one, count)).rows).toEqual([[1]]);
});
