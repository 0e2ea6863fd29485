export type Tally = {
  handled: number;
  /** Left in the queue because it would not help to handle them: counts by reason. */
  skipped: Readonly<Record<string, number>>;
  /** Removed because nothing remains to be done: counts by reason. Absent if there are none. */
  settled?: Readonly<Record<string, number>>;
  /** Left in the queue for other reasons, among those received. */
  left: number;
};

/** `crowded`: this run holds so many dead letters that SQS would return no further ones. */
export type RunEnd = 'emptied' | 'limit_reached' | 'interrupted' | 'crowded';

/**
 * `left`: messages that remain besides the skipped ones. Exact if `end` is `emptied`, otherwise an estimate of SQS.
 * `hidden`: about how many of the messages another program held, so that this run could not see them. `total`: about
 * how many the queue had.
 */
export type RunResult = Tally & { end: RunEnd; hidden: number; total: number };

/** The run stopped with an error. Handled messages stay handled; another run continues with the rest. */
export class RunFailedError extends Error {
  override readonly name = 'RunFailedError';
  readonly handled: number;
  /** The error that stopped the run, and an error of releasing the held dead letters, if any. */
  readonly causes: readonly unknown[];

  constructor(handled: number, causes: readonly unknown[]) {
    super('The run over the dead letters stopped.', { cause: causes[0] });
    this.handled = handled;
    this.causes = causes;
  }
}
