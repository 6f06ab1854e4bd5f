import { scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { Refusal } from '../../errors.js';
import {
  SQL_PASSWORD_CHECKS_AT_ONCE_MAX_COUNT,
  SQL_PASSWORD_CHECKS_WAITING_MAX_COUNT,
} from '../../limits.js';
import type { World } from '../../world.js';

const derive = promisify<string, Buffer, number, { N: number; r: number; p: number }, Buffer>(scrypt);

const PREFIX = 'gls_';
const SECRET_BYTES = 24;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/**
 * 16 MiB and about 50 ms of one core. The password has 192 random bits; the cost slows an attacker with a stolen hash.
 */
const COST = { N: 16_384, r: 8, p: 1 };
const FORM = /^gls_[A-Za-z0-9_-]{32}$/;

/** Checked if there is no such user, so that the response time does not reveal which users exist. */
const PLACEHOLDER_HASH = `scrypt$${COST.N}$${COST.r}$${COST.p}$${'A'.repeat(24)}$${'A'.repeat(44)}`;

export function newSqlPassword(world: World): string {
  return PREFIX + world.randomBytes(SECRET_BYTES).toString('base64url');
}

/** `scrypt$N$r$p$salt$hash`, salt and hash in base64. Errors  those of scrypt */
export async function hashSqlPassword(password: string, world: World): Promise<string> {
  const salt = world.randomBytes(SALT_BYTES);
  const hash = await world.aside(derive(password, salt, HASH_BYTES, COST));
  return ['scrypt', COST.N, COST.r, COST.p, salt.toString('base64'), hash.toString('base64')].join('$');
}

/** Checks passwords with limits on concurrency and queue length, so that guessing cannot use more resources. */
export class PasswordCheck {
  readonly #line: (() => void)[] = [];
  #checkingCount = 0;

  /** Whether the password has this hash; false without a hash. Errors  Refusal `sql_busy` */
  async isRight(password: string, storedHash: string | undefined): Promise<boolean> {
    // Generated passwords have this form, so others need no hashing.
    if (!FORM.test(password)) return false;
    const [, N, r, p, salt, hash] = (storedHash ?? PLACEHOLDER_HASH).split('$');
    await this.#enter();
    try {
      const cost = { N: Number(N), r: Number(r), p: Number(p) };
      const derived = await derive(password, Buffer.from(salt, 'base64'), HASH_BYTES, cost);
      const expected = Buffer.from(hash, 'base64').subarray(0, HASH_BYTES);
      return timingSafeEqual(derived, expected) && storedHash !== undefined;
    } finally {
      this.#leave();
    }
  }

  async #enter(): Promise<void> {
    if (this.#checkingCount < SQL_PASSWORD_CHECKS_AT_ONCE_MAX_COUNT) this.#checkingCount += 1;
    else if (this.#line.length >= SQL_PASSWORD_CHECKS_WAITING_MAX_COUNT) throw busy();
    else await new Promise<void>((resolve) => this.#line.push(resolve));
  }

  #leave(): void {
    const next = this.#line.shift();
    if (next === undefined) this.#checkingCount -= 1;
    else next();
  }
}

function busy(): Refusal {
  return new Refusal('sql_busy', 'Too many passwords wait to be checked.', {
    retryAfterSeconds: 1,
    policy: {
      name: 'queue',
      quota: SQL_PASSWORD_CHECKS_WAITING_MAX_COUNT,
      quota_unit: 'concurrent-requests',
    },
  });
}
