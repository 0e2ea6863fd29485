import { printableJson } from './printable.ts';

/** One JSON value on a line of its own, for programs. */
export const printJson = (value: unknown): void => {
  console.log(printableJson(JSON.stringify(value)));
};
