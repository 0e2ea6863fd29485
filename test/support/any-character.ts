import * as fc from 'fast-check';

const SURROGATES = { first: 0xd800, count: 0x800 };

/**
 * Any Unicode character: the unit `binary` of `fc.string`, which takes a second for a table of all characters before the
 * first text.
 */
export const anyCharacter = fc.integer({ min: 0, max: 0x10ffff - SURROGATES.count }).map(
  (index) => String.fromCodePoint(index < SURROGATES.first ? index : index + SURROGATES.count),
  (text) => {
    const point = typeof text === 'string' ? text.codePointAt(0) : undefined;
    if (point === undefined || String.fromCodePoint(point) !== text)
      throw new TypeError('This is not one character.');
    return point < SURROGATES.first ? point : point - SURROGATES.count;
  },
);
