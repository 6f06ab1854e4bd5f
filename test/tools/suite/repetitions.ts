/**
 * Number of repetitions of a test of the long tier.
 * @param variable environment variable, whose number has precedence
 * @param ordinary in `npm test`
 * @param long in `npm run test:long`
 */
export function repetitions(variable: string, ordinary: number, long: number): number {
  const { [variable]: number, GLOAMING_LONG: isLong } = process.env;
  return number === undefined ? (isLong === '1' ? long : ordinary) : Number(number);
}
