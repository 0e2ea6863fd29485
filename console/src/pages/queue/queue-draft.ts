import * as z from 'zod';
import { metadataPointer } from '../../../../api-client/queues.ts';
import type { PartialRetryPolicy } from '../../../../shared/domain/retry/policy.ts';
import { retryPolicySchema } from '../../../../shared/domain/retry/policy-schema.ts';
import type { Faults } from '../../api/failure-words.ts';
import { jsonFault, jsonIn, numberIn, textOf } from '../../parts/fields.tsx';
import { choiceOf, policyIn, type PolicyChoice } from '../designer/policy-choice.ts';

type Metadata = Readonly<Record<string, unknown>>;

const objectSchema = z.record(z.string(), z.unknown());

/** The metadata of a queue in its form. An empty text means that the queue has none. */
export type QueueDraft = {
  policy: PolicyChoice;
  retainMessages: string;
  /** Seconds. */
  ttl: string;
  /** Seconds. */
  delay: string;
  /** Empty, or a boolean in JSON. */
  adaptToThrottling: string;
  /** Empty, or a boolean in JSON. */
  holdWhileDown: string;
  /** All other metadata, as a JSON object. */
  others: string;
};

const POLICY = '_retry_policy';

/** The metadata of each field of text. */
export const QUEUE_FIELDS = {
  retainMessages: '_retain_messages',
  ttl: '_default_message_ttl',
  delay: '_default_message_delay',
  adaptToThrottling: '_adapt_to_throttling',
  holdWhileDown: '_hold_while_down',
  others: 'others',
} as const;

const { others: OTHERS, ...TEXTS } = QUEUE_FIELDS;

/** The metadata that has its own control. */
export const OWN_CONTROLS: readonly string[] = [POLICY, ...Object.values(TEXTS)];

export function queueDraft(metadata: Metadata): QueueDraft {
  const others = Object.entries(metadata).filter(([name]) => !OWN_CONTROLS.includes(name));
  return {
    policy: choiceOf(queuePolicy(metadata)),
    retainMessages: textOf(metadata[TEXTS.retainMessages]),
    ttl: textOf(metadata[TEXTS.ttl]),
    delay: textOf(metadata[TEXTS.delay]),
    adaptToThrottling: textOf(metadata[TEXTS.adaptToThrottling]),
    holdWhileDown: textOf(metadata[TEXTS.holdWhileDown]),
    others: others.length === 0 ? '' : JSON.stringify(Object.fromEntries(others), null, 2),
  };
}

/** The retry policy in the metadata of a queue; undefined: none that is valid. */
export function queuePolicy(metadata: Metadata = {}): PartialRetryPolicy | undefined {
  return retryPolicySchema.safeParse(metadata[POLICY]).data;
}

/** Errors that the form can see without the API. */
export function queueFaults({ policy, others }: QueueDraft): Faults {
  const fault = othersFault(others);
  return new Map([
    ...(policyIn(policy).ok ? [] : [[POLICY, 'has errors'] as const]),
    ...(fault === undefined ? [] : [[OTHERS, fault] as const]),
  ]);
}

function othersFault(text: string): string | undefined {
  if (text.trim() === '') return undefined;
  const fault = jsonFault(text);
  if (fault !== undefined) return fault;
  const given = objectSchema.safeParse(JSON.parse(text));
  if (!given.success) return 'This is not a JSON object.';
  const twice = Object.keys(given.data).find((name) => OWN_CONTROLS.includes(name));
  return twice === undefined ? undefined : `${twice} has its own field.`;
}

type Operation = { op: 'add'; path: string; value: unknown } | { op: 'remove'; path: string };

/** The JSON patch (RFC 6902) that makes the changes of the form. It leaves all other metadata as it is. */
export function queuePatch(before: QueueDraft, after: QueueDraft): Operation[] {
  const [old, next] = [membersIn(before), membersIn(after)];
  return [...new Set([...Object.keys(old), ...Object.keys(next)])].flatMap((name): Operation[] => {
    const path = metadataPointer(name);
    const value = next[name];
    if (JSON.stringify(old[name]) === JSON.stringify(value)) return [];
    return [value === undefined ? { op: 'remove', path } : { op: 'add', path, value }];
  });
}

/** The metadata in the form. The draft has no errors. */
function membersIn(draft: QueueDraft): Record<string, unknown> {
  const { policy, retainMessages, others } = draft;
  const checked = policyIn(policy);
  return {
    ...objectSchema.parse(others.trim() === '' ? {} : JSON.parse(others)),
    [POLICY]: checked.ok ? checked.value : undefined,
    [TEXTS.retainMessages]: retainMessages === '' ? undefined : retainMessages,
    [TEXTS.ttl]: numberIn(draft.ttl),
    [TEXTS.delay]: numberIn(draft.delay),
    [TEXTS.adaptToThrottling]: jsonIn(draft.adaptToThrottling),
    [TEXTS.holdWhileDown]: jsonIn(draft.holdWhileDown),
  };
}
