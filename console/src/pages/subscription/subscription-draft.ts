import { toRecord, wordsIn } from '../../../../shared/domain/delivery/vocabulary.ts';
import { REDACTED } from '../../../../shared/domain/subscription/credential-headers.ts';
import type { SubscriptionView } from '../../../../shared/wire/views/subscription.ts';
import type { Faults } from '../../api/failure-words.ts';
import { addressIn, changedAddress, isMove } from '../../parts/address-fields.tsx';
import { eventTypesIn, jsonFault, jsonIn, numberIn, toFieldText } from '../../parts/fields.tsx';
import { toChoice, policyIn, type PolicyChoice } from '../designer/policy-controls.tsx';
import { authDraft, authFaults, authIn, type AuthDraft } from './auth-fields.tsx';

export type Header = { name: string; value: string };

/** The option for a text of the form, which is empty where the option is not set; undefined: not set. */
const VALUES = {
  event_types: (text) => (text.trim() === '' ? undefined : eventTypesIn(text)),
  filter: jsonIn,
  max_per_second: numberIn,
  attempt_timeout: numberIn,
  adapt_to_throttling: jsonIn,
  hold_while_down: jsonIn,
} satisfies Record<string, (text: string) => unknown>;

const TEXT_OPTIONS = wordsIn(VALUES);

/** The fields of text, by their paths in the API. */
export const TEXT_FIELDS = ['subscriber', 'name', ...TEXT_OPTIONS] as const;

/** A subscription in its form. */
export type SubscriptionDraft = Record<(typeof TEXT_FIELDS)[number], string> & {
  headers: readonly Header[];
  auth: AuthDraft;
  policy: PolicyChoice;
};

type Shown = Pick<SubscriptionView, 'subscriber' | 'name' | 'options'>;

export function subscriptionDraft({ subscriber, name = '', options }: Shown): SubscriptionDraft {
  const { event_types = [], filter, post_headers = {} } = options;
  return {
    subscriber,
    name,
    ...toRecord(TEXT_OPTIONS, (option) => toFieldText(options[option])),
    event_types: event_types.join('\n'),
    filter: filter === undefined ? '' : JSON.stringify(filter, null, 2),
    headers: Object.entries(post_headers).map(([header, value]) => ({ name: header, value })),
    auth: authDraft(options.auth),
    policy: toChoice(options._retry_policy),
  };
}

export const EMPTY_SUBSCRIPTION = subscriptionDraft({ subscriber: '', options: {} });

/** Errors that the form can see without the API. `before`: the subscription that is edited. */
export function draftFaults(draft: SubscriptionDraft, before?: Shown): Faults {
  const filter = draft.filter.trim() === '' ? undefined : jsonFault(draft.filter);
  const moves = isMove(before, draft);
  return new Map([
    ...(filter === undefined ? [] : [['filter', filter] as const]),
    ...(policyIn(draft.policy).ok ? [] : [['_retry_policy', 'has errors'] as const]),
    ...headerFaults(draft, moves),
    ...authFaults(draft.auth, authDraft(before?.options.auth), moves),
  ]);
}

function headerFaults({ headers }: SubscriptionDraft, moves: boolean): [string, string][] {
  const names = headers.map(({ name }) => name.trim().toLowerCase());
  return headers.flatMap(({ name, value }, index): [string, string][] => {
    const field = headerField(name);
    if (name.trim() === '') return value === '' ? [] : [[field, 'The header has no name.']];
    if (names.indexOf(names[index] ?? '') < index) return [[field, 'This header is given twice.']];
    return moves && value === REDACTED
      ? [[field, 'The stored value is not sent to another origin: give the value, or remove the header.']]
      : [];
  });
}

/** The name of a header's field in the errors. */
export function headerField(name: string): string {
  return `post_headers.${name.trim()}`;
}

/** The body that creates a subscription. The draft has no errors. */
export function buildCreation(draft: SubscriptionDraft): Record<string, unknown> {
  return { ...addressIn(draft), options: optionsIn(draft) };
}

/**
 * The PATCH that makes the changes of the form; undefined if there are none. The API replaces all options, so they are
 * `current` with the changed members: those that the form does not show stay, and so do redacted headers.
 */
export function buildPatch(
  before: Shown,
  draft: SubscriptionDraft,
  current: Shown = before,
): Record<string, unknown> | undefined {
  const original = optionsIn(subscriptionDraft(before));
  const changed = Object.entries(optionsIn(draft)).filter(
    ([member, value]) => JSON.stringify(value) !== JSON.stringify(original[member]),
  );
  // Stored credentials are not sent to another origin.
  const { auth: _, ...withoutAuth } = current.options;
  const kept = isMove(before, draft) ? withoutAuth : current.options;
  const patch = {
    ...changedAddress(before, draft),
    ...(changed.length > 0 && { options: { ...kept, ...Object.fromEntries(changed) } }),
  };
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/** The options that the form shows; undefined, which JSON leaves out: not set. */
function optionsIn(draft: SubscriptionDraft): Record<string, unknown> {
  const headers = draft.headers.filter(({ name }) => name.trim() !== '');
  const policy = policyIn(draft.policy);
  return {
    ...toRecord(TEXT_OPTIONS, (option) => VALUES[option](draft[option])),
    post_headers:
      headers.length === 0
        ? undefined
        : Object.fromEntries(headers.map(({ name, value }) => [name.trim(), value])),
    auth: authIn(draft.auth),
    _retry_policy: policy.ok ? policy.value : undefined,
  };
}
