import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WEBHOOK_ENDPOINTS_MAX_COUNT } from '#src/limits.js';
import { context, openScene, verify, type Scene } from './webhooks-scene.js';

let scene: Scene;

beforeEach(async () => {
  scene = await openScene();
});
afterEach(async () => {
  await scene.close();
  expect(scene.faults).toEqual([]);
});

describe('an endpoint', () => {
  it('whose secret was changed signs with both for a day, then with the new one only', async () => {
    const { id, secret: old } = await scene.endpoint();
    const { secret: fresh } = (await scene.webhooks.rotateSecret(id, context())).value;
    expect(fresh).not.toBe(old);
    await scene.endRun();
    await scene.webhooks.deliverDue();
    verify(old, scene.received[0]);
    verify(fresh, scene.received[0]);
    scene.clock += 24 * 60 * 60 * 1000;
    await scene.endRun();
    await scene.webhooks.deliverDue();
    expect(scene.received[1].headers['webhook-signature']).toMatch(/^v1,\S+$/);
    // The package's own clock is fixed; only the signature is checked.
    const [timestamp, message] = [
      scene.received[1].headers['webhook-timestamp'] as string,
      scene.received[1],
    ];
    const at = new Date(Number(timestamp) * 1000);
    expect(new Webhook(fresh).sign(message.headers['webhook-id'] as string, at, message.body)).toBe(
      message.headers['webhook-signature'],
    );
  });

  it('shows its secret once, and only to its organization', async () => {
    const { id, secret } = await scene.endpoint();
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(JSON.stringify(scene.webhooks.listEndpoints({ limit: 10 }, context()).value)).not.toContain(
      'whsec_',
    );
    expect(scene.webhooks.listEndpoints({ limit: 10 }, context('other')).value.data).toEqual([]);
    await expect(scene.webhooks.rotateSecret(id, context('other'))).rejects.toMatchObject({
      code: 'permission_denied',
    });
    await expect(scene.webhooks.deleteEndpoint(id, context('other'))).rejects.toMatchObject({
      code: 'permission_denied',
    });
  });

  it('that was removed gets no further delivery', async () => {
    const { id } = await scene.endpoint();
    await scene.endRun();
    await scene.webhooks.deleteEndpoint(id, context());
    await scene.webhooks.deliverDue();
    expect(scene.received).toEqual([]);
    expect(scene.deliveries()[0]).toMatchObject({
      status: 'failed',
      last_error: 'The endpoint was removed.',
    });
    await expect(scene.webhooks.deleteEndpoint(id, context())).rejects.toMatchObject({
      code: 'webhook_endpoint_not_found',
    });
  });

  it('that was removed leaves no delivery pending, whatever it waits for', async () => {
    const { id } = await scene.endpoint();
    const other = await scene.endpoint({ url: `${scene.origin}/other` });
    scene.answer = (response) => response.writeHead(500).end();
    for (let run = 0; run < 3; run += 1) await scene.endRun();
    await scene.webhooks.deliverDue();
    for (let run = 0; run < 300; run += 1) await scene.endRun();
    const pending = { endpoint_id: id, status: 'pending' };
    expect(scene.deliveries('lab', pending)).toHaveLength(100);
    await scene.webhooks.deleteEndpoint(id, context());
    expect(scene.deliveries('lab', pending)).toEqual([]);
    for (const delivery of scene.deliveries('lab', { endpoint_id: id })) {
      expect(delivery).toMatchObject({ status: 'failed', last_error: 'The endpoint was removed.' });
      expect(delivery.next_attempt_at).toBeUndefined();
    }
    expect(scene.deliveries('lab', { ...pending, endpoint_id: other.id })).toHaveLength(100);
  });

  it('that is removed during an attempt is not attempted again', async () => {
    const { id } = await scene.endpoint();
    await scene.endRun();
    scene.answer = (response) =>
      void scene.webhooks.deleteEndpoint(id, context()).then(() => response.writeHead(500).end());
    await scene.webhooks.deliverDue();
    expect(scene.deliveries()[0]).toMatchObject({
      status: 'failed',
      attempt_count: 1,
      response_status_code: 500,
      last_error: 'The endpoint was removed.',
    });
  });

  it('is refused if its URL is forbidden, or the organization has the maximum number', async () => {
    for (const url of [
      'ftp://x.example/',
      'nothing',
      'http://user:pw@x.example/',
      'http://169.254.169.254/',
      'http://[::1]/',
    ]) {
      await expect(scene.endpoint({ url }), url).rejects.toMatchObject({ code: 'webhook_url_refused' });
    }
    scene.lookup = async () => [{ address: '10.0.0.1', family: 4 }];
    await expect(scene.endpoint({ url: 'https://inside.example/' })).rejects.toThrow(
      'The URL is refused: inside.example has the address 10.0.0.1, to which deliveries are not sent: ' +
        'the setting webhook_networks of the appliance does not name its network.',
    );
    await expect(scene.endpoint({ url: 'http://169.254.169.254/' })).rejects.toThrow(
      'The URL is refused: 169.254.169.254 has the address 169.254.169.254, to which deliveries are not sent.',
    );
    scene.lookup = async () => Promise.reject(new Error('ENOTFOUND'));
    for (let index = 0; index < WEBHOOK_ENDPOINTS_MAX_COUNT; index += 1) {
      await scene.endpoint({ url: `https://later.example/${index}` });
    }
    await expect(scene.endpoint()).rejects.toMatchObject({ code: 'webhook_endpoints_full' });
  });

  it('is reached at the checked address, even if its name resolves differently later', async () => {
    const port = new URL(scene.origin).port;
    await scene.endpoint({ url: `http://rebinding.example:${port}/hook` });
    let requestCount = 0;
    scene.lookup = async () => {
      requestCount += 1;
      return [{ address: requestCount === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }];
    };
    await scene.endRun();
    await scene.webhooks.deliverDue();
    expect(requestCount).toBe(1);
    expect(scene.received[0].headers.host).toBe(`rebinding.example:${port}`);
    scene.lookup = async () => [{ address: '169.254.169.254', family: 4 }];
    scene.clock += 1;
    await scene.endRun();
    await scene.webhooks.deliverDue();
    expect(scene.deliveries()[0]).toMatchObject({
      status: 'pending',
      last_error: expect.stringContaining('169.254.169.254'),
    });
    expect(scene.received).toHaveLength(1);
  });
});
