import {
  pauseQueue,
  pauseSubscription,
  resumeQueue,
  resumeSubscription,
  type Stopped,
} from '../../../api-client/operations.ts';
import { formatLabel, shortId } from '../../../api-client/subscription-labels.ts';
import { type PauseView, requestsEndText } from '../../../api-client/words.ts';
import { commandText } from '../../../local/command-name.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import { DEFAULT_RESUME_PER_SECOND } from '../../../shared/domain/subscription/pause.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { resolveSubscription } from '../../api/find-subscription.ts';
import {
  option,
  parseFutureTime,
  parseRate,
  QUEUE,
  SUBSCRIPTION_ADDRESS,
  wholeSeconds,
} from '../../options/arguments.ts';
import { deployed } from '../../options/deployed.ts';
import { clockTime, printable } from '../../output/text.ts';

/** `until`: milliseconds since the epoch. `for`: seconds. */
type PauseOptions = { until?: number; for?: number };

const PAUSE = {
  options: [
    option('--for <DURATION>', 'resume after this long: seconds, or 30m, 1h, 2d', wholeSeconds(1)).conflicts(
      'until',
    ),
    option(
      '--until <TIME>',
      'resume at this time: 2026-12-24 18:00 (local, or with a zone), or 18:00 (today)',
      parseFutureTime,
    ),
  ],
  more: `
New messages and due retries wait, which uses none of their attempts. What waits
is kept for the retention; the ttl of its messages goes on counting. The answer
says for how many seconds a request can still go out. Without --for and --until
the pause lasts until it is resumed. Pausing again changes the end only.
`,
};

function pauseBody({ until, for: for_seconds }: PauseOptions) {
  return { for_seconds, until: until === undefined ? undefined : timeText(until) };
}

type ResumeOptions = { perSecond?: number };

const RESUME = {
  options: [
    option(
      '--per-second <NUMBER>',
      'send what waits at this rate, 0.01 to 1000 requests per second',
      parseRate,
    ),
  ],
  more: `
What waits is sent to each subscription in the order of acceptance, at
--per-second, else at its max_per_second, else at ${DEFAULT_RESUME_PER_SECOND} a second. To change the
rate, repeat the command. A disabled subscription stays disabled, and one that
is paused by itself or by its queue stays paused.
`,
};

/** `posthaste subscription pause` and `resume` */
export const subscriptionPauses = {
  pause: deployed<PauseOptions>({
    ...PAUSE,
    description: 'Pause a subscription: its deliveries wait, and are sent after the pause.',
    arguments: SUBSCRIPTION_ADDRESS,
    json: 'the subscription after the change, and requests_end_within_seconds',
    examples: [
      'subscription pause orders ACME --for 1h',
      'subscription pause orders ACME --until "2026-12-24 18:00"',
    ],
    write: async ({ api, options }, queue, reference) => {
      const path = { queue, subscription: await resolveSubscription(api, queue, reference) };
      const view = await api.call(pauseSubscription, { path, body: pauseBody(options) });
      return [view, () => describePause(view)];
    },
  }),
  resume: deployed<ResumeOptions>({
    ...RESUME,
    description: 'End the pause of a subscription, and send what waits.',
    arguments: SUBSCRIPTION_ADDRESS,
    json: 'the subscription after the change',
    examples: ['subscription resume orders ACME', 'subscription resume orders ACME --per-second 20'],
    write: async ({ api, options }, queue, reference) => {
      const path = { queue, subscription: await resolveSubscription(api, queue, reference) };
      const view = await api.call(resumeSubscription, { path, body: { per_second: options.perSecond } });
      return [view, () => describeResume(view, options)];
    },
  }),
};

/** `posthaste queue pause` and `resume` */
export const queuePauses = {
  pause: deployed<PauseOptions>({
    ...PAUSE,
    description: 'Pause all subscriptions of a queue: deliveries wait, and are sent after the pause.',
    arguments: [QUEUE],
    json: 'the pause, and requests_end_within_seconds',
    examples: ['queue pause orders --for 1h'],
    write: async ({ api, options }, queue) => {
      const view = await api.call(pauseQueue, { path: { queue }, body: pauseBody(options) });
      return [view, () => describePause(view)];
    },
  }),
  resume: deployed<ResumeOptions>({
    ...RESUME,
    description: 'End the pause of a queue, and send what waits.',
    arguments: [QUEUE],
    json: 'the queue after the change',
    examples: ['queue resume orders --per-second 20'],
    write: async ({ api, options }, queue) => {
      const view = await api.call(resumeQueue, { path: { queue }, body: { per_second: options.perSecond } });
      return [view, () => describeResume(view, options)];
    },
  }),
};

/** A subscription, or a queue with its pause. */
type Paused = SubscriptionView | { name: string; paused?: PauseView };

function describePause(view: Paused & Stopped): string {
  const { paused } = view;
  // The answer of a subscription can show the pause of its queue alone.
  const own = isSubscription(view) === (paused?.by === 'subscription') ? paused : undefined;
  const end = own?.until === undefined ? 'until it is resumed' : `until ${clockTime(own.until)}`;
  return [
    `Paused ${describe(view)}${own === undefined ? '' : `, ${end}`}.`,
    ...requestsEndLines(view),
    'What waits uses none of its attempts. The ttl of messages goes on counting.',
    `To resume it: ${isSubscription(view) ? resumeOwn(view) : commandText(`queue resume ${view.name}`)}`,
    ...stillLines(view),
  ].join('\n');
}

function describeResume(view: Paused, { perSecond }: ResumeOptions): string {
  const rate = perSecond === undefined ? '' : `, ${perSecond} a second`;
  const sent = `What waits is sent in the order of acceptance${rate}.`;
  return [`Resumed ${describe(view)}.`, sent, ...stillLines(view)].join('\n');
}

/** What else keeps requests from a subscription. */
function stillLines(view: Paused): string[] {
  if (!isSubscription(view)) return [];
  const { paused, disabled } = view;
  return [
    ...(paused?.by === 'queue' ? [`Its queue is paused, too. To resume the queue: ${resumeText(view)}`] : []),
    ...(disabled === undefined ? [] : [`It is disabled. To enable it: ${enableText(view)}`]),
  ];
}

function isSubscription(view: Paused): view is SubscriptionView {
  return 'subscriber' in view;
}

function describe(view: Paused): string {
  return isSubscription(view) ? describeName(view) : `queue ${view.name}`;
}

export function describeName(view: SubscriptionView): string {
  return `subscription ${printable(view.id)}, ${printable(formatLabel(view))}`;
}

/** How long requests can still go out after a stop. Earlier deployments do not say. */
export function requestsEndLines({ requests_end_within_seconds: seconds }: Stopped): string[] {
  return seconds === undefined ? [] : [requestsEndText(seconds)];
}

/** The command that ends the pause that is shown: that of the queue or of the subscription. */
export function resumeText(view: SubscriptionView): string {
  return view.paused?.by === 'queue' ? commandText(`queue resume ${view.source}`) : resumeOwn(view);
}

export function enableText({ source, id }: SubscriptionView): string {
  return commandText(`subscription enable ${source} ${printable(shortId(id))}`);
}

function resumeOwn({ source, id }: SubscriptionView): string {
  return commandText(`subscription resume ${source} ${printable(shortId(id))}`);
}

/** Since when and until when. */
export function describePauseTimes({ since, until }: PauseView): string {
  return `since ${clockTime(since)} until ${until === undefined ? 'it is resumed' : clockTime(until)}`;
}
