import type { ApiClient } from '../../../api-client/api-client.ts';
import { getStatistics, listQueues } from '../../../api-client/operations.ts';
import { ApiRefusal, isNotFound, orElse } from '../../../api-client/refusal.ts';
import { whyUnmatched } from '../../../api-client/unmatched.ts';
import { counted } from '../../../api-client/words.ts';
import { commandText } from '../../../local/command-name.ts';
import { inParallel } from '../../../shared/adapters/in-parallel.ts';
import { DAY_MS } from '../../../shared/domain/duration.ts';
import { timeText } from '../../../shared/wire/fields.ts';

const check = 'unmatched messages';

/** Each takes a request, which reads the minutes of a day. */
const MAX_QUEUES = 1_000;

/** Requests at a time. */
const SIDE_BY_SIDE = 8;

/** Queues that are named. */
const MAX_NAMED = 10;

/** The queues whose messages match nothing. A notice, because producers or subscribers are at fault, not the deployment. */
export async function findUnmatched(api: ApiClient, signal: AbortSignal) {
  try {
    const { items, more } = await api.items(listQueues, { most: MAX_QUEUES, signal });
    const read = await inParallel(items, SIDE_BY_SIDE, ({ name }) => readUnmatched(api, name, signal));
    if (read.includes('not_counted'))
      return { check, state: 'notShown' as const, detail: 'the setting queueStatistics is off' };
    const found = read.flatMap((one) => (typeof one === 'object' ? one : []));
    const of = more ? ` of the first ${counted(items.length, 'queue', 'queues')}` : '';
    return describe(found, of);
  } catch (error) {
    if (error instanceof ApiRefusal) return { check, state: 'notShown' as const, detail: error.message };
    throw error;
  }
}

type Unmatched = { queue: string; why: string; messages: number };

async function readUnmatched(
  api: ApiClient,
  queue: string,
  signal: AbortSignal,
): Promise<Unmatched | 'not_counted' | undefined> {
  const query = { since: timeText(Date.now() - DAY_MS), step: 3600 } as const;
  const asked = api.call(getStatistics, { path: { queue }, query, signal });
  // Deleted meanwhile.
  const statistics = await asked.catch(orElse(isNotFound, undefined));
  if (statistics === undefined) return undefined;
  if (!statistics.enabled) return 'not_counted';
  const why = whyUnmatched(statistics.points);
  return why === undefined ? undefined : { queue, why, messages: statistics.total.messages };
}

/** `of`: which queues were looked at, if not all. */
function describe(found: readonly Unmatched[], of: string) {
  const [first] = found;
  if (first === undefined) return { check, state: 'ok' as const, detail: `none in the last 24 hours${of}` };
  const named = found
    .slice(0, MAX_NAMED)
    .map(({ queue, why, messages }) => `${queue} (${counted(messages, 'message', 'messages')}: ${why})`);
  const others = found.length > MAX_NAMED ? [`${found.length - MAX_NAMED} more`] : [];
  const queues = counted(found.length, 'queue', 'queues');
  return {
    check,
    state: 'notice' as const,
    detail: `${queues}${of} in the last 24 hours: ${[...named, ...others].join(', ')}`,
    advice:
      `See them: ${commandText(`find 1d --queue ${first.queue}`)}. Correct the queue's name where they are published, or subscribe and send them ` +
      '(docs/ingress.md, "What matches nothing").',
  };
}
