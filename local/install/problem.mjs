/** An error that the user can fix. Only the message is shown: what is wrong, and what to do. */
export class Problem extends Error {
  /** @override */
  name = 'Problem';
}
