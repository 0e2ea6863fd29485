/** A change of what is stored, sent or allowed that earlier versions do not know. */
export type OneWayChange = {
  /** The first version with it. */
  since: string;
  what: string;
  /** What an earlier version does: beside the new one during the upgrade, and after going back. Continues "An earlier version". */
  earlier: string;
  /** What to do before the upgrade. */
  before?: string;
  /** What to do before going back. Absent: there is no way back once the new version wrote it. */
  back?: string;
};

/**
 * What `posthaste upgrade --check` says beyond the resources. A record, job or receipt with a new form gets a row here.
 * test/unit/adapters/way-back.test.ts shows that the version before reads the others; `npm run test:versions` runs both.
 */
export const ONE_WAY_CHANGES: readonly OneWayChange[] = [
  {
    since: '0.1.0',
    what: 'Lines of rate limits, in whole microseconds',
    earlier: 'keeps a line for itself, so that a subscriber can get up to twice its rate',
    before:
      'Raise no max_per_second while you deploy. If an earlier operate made a dead letter of it: posthaste redrive operation.',
    back: 'Nothing to do: deliveries that wait get a new place.',
  },
  {
    since: '0.1.0',
    what: 'Back-pressure by adapt_to_throttling and hold_while_down',
    earlier: 'ignores both, and the state that was reached',
    back: 'Change max_per_second of each subscription that was slowed, once.',
  },
  {
    since: '0.1.0',
    what: 'Deliveries that wait to be received by pull, in four partitions',
    earlier: 'does not find what the new one wrote, or rejects it if it has no pull at all',
    back: 'Receive what waits. What is left is on record, and is received after you went forward again.',
  },
  {
    since: '0.1.0',
    what: 'The last lease of a receive by pull, after its end',
    earlier: 'does not keep it, and refuses an acknowledgement after the lease',
    back: 'Nothing to do: such a delivery is received once more.',
  },
  {
    since: '0.1.0',
    what: 'Recoveries by the time of the failure',
    earlier: 'takes their window for times of acceptance',
    back: 'Wait until those that run are completed, or stop them: posthaste recover stop.',
  },
  {
    since: '0.1.0',
    what: 'What an attempt waited for, and since when a delivery waits',
    earlier: 'does not record it, and drops it from a delivery that it makes wait again',
    back: 'Nothing to do.',
  },
  {
    since: '0.1.0',
    what: 'Pauses of subscriptions and queues, and deliveries that wait for their end',
    earlier:
      'sends requests in spite of a pause, and does not find what waits; its operate makes a dead letter of the operation',
    before: 'Pause nothing while you deploy.',
    back: 'Resume all queues and subscriptions, and go back when nothing waits any more.',
  },
  {
    since: '0.1.0',
    what: 'Authentication at the subscriber (options.auth)',
    earlier: 'without it sends requests that are not authenticated',
    back: 'Disable these subscriptions.',
  },
  {
    since: '0.1.0',
    what: 'Archives of deleted queues and subscriptions, and the operation that restores a queue',
    earlier:
      'moves no subscriptions of a deleted queue to its archive, makes a dead letter of the operation, and deletes what is being restored',
    before: 'Delete and restore no queue while you deploy.',
    back: 'Restore before you go back what you may want to have. Archives stay until their end, for when you go forward again.',
  },
  {
    since: '0.1.0',
    what: 'The right to open secrets, which moves from the function api to secrets',
    earlier: 'answers a receive by pull with 500 until its route leads to secrets, some seconds later',
    before: 'Programs that receive by pull must repeat a receive that fails, as posthaste forward does.',
    back: 'Nothing to do: the right moves back.',
  },
];
