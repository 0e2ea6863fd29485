/** Something that the user can put right. The message says what is wrong and what to do, and is all that is shown. */
export class Problem extends Error {
  /** @override */
  name = 'Problem';
}
