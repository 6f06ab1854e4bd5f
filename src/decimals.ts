/** A decimal as its significant digits and a power of ten; no digits for zero. */
interface Decimal {
  readonly sign: string;
  readonly digits: string;
  readonly exponent: number;
}

const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,9}))?$/;

/**
 * Whether binary64 tells this decimal from every other one: it is the shortest decimal of its own double, up to zeros
 * and notation. All decimals of at most 15 significant digits within the range of normal doubles are.
 * Range   decimal notation with an optional exponent; any other text is not exact
 */
export function isExactDecimal(text: string): boolean {
  const value = Number(text);
  const [written, held] = [decimalOf(text), decimalOf(String(value))];
  if (written === undefined || held === undefined) return false;
  if (written.digits === '' || held.digits === '') return written.digits === held.digits;
  return written.sign === held.sign && written.digits === held.digits && written.exponent === held.exponent;
}

/** Whether the decimal is an integer, as written: 5, 5.0 and 5e3 are. */
export function isIntegralDecimal(text: string): boolean {
  const decimal = decimalOf(text);
  return decimal !== undefined && (decimal.digits === '' || decimal.exponent >= 0);
}

function decimalOf(text: string): Decimal | undefined {
  const [, sign = '', whole = '', fraction = '', power = '0'] = DECIMAL.exec(text) ?? [];
  const all = (whole + fraction).replace(/^0+/, '');
  if (whole + fraction === '') return undefined;
  const digits = all.replace(/0+$/, '');
  const exponent = Number(power) - fraction.length + (all.length - digits.length);
  return { sign: sign === '-' ? '-' : '', digits, exponent };
}
