import { numberIn, toFieldText } from '../../console/src/parts/fields.tsx';
import type { SubscriptionView } from '../../shared/wire/views/subscription.ts';
import type { PortalSession } from './session.ts';

/** An endpoint in its form. `types`: undefined for all events. */
export type EndpointDraft = {
  subscriber: string;
  name: string;
  types: readonly string[] | undefined;
  perSecond: string;
};

/** The fields of the form by their paths in the API. */
export const ENDPOINT_FIELDS = ['subscriber', 'name', 'event_types', 'max_per_second'] as const;

type Shown = Pick<SubscriptionView, 'subscriber' | 'name' | 'options'>;

/** A new endpoint gets all that the link allows. */
export function newEndpoint({
  event_types: types,
  limits: { per_second: perSecond },
}: Pick<PortalSession, 'event_types' | 'limits'>): EndpointDraft {
  return { subscriber: '', name: '', types, perSecond: toFieldText(perSecond) };
}

export function endpointDraft({ subscriber, name = '', options }: Shown): EndpointDraft {
  return { subscriber, name, types: options.event_types, perSecond: toFieldText(options.max_per_second) };
}

/** The error that the form can see without the API. */
export function typesFault({ types }: EndpointDraft): string | undefined {
  return types?.length === 0 ? 'Choose at least one event.' : undefined;
}

export function buildCreation(draft: EndpointDraft): Record<string, unknown> {
  const [subscriber, name] = [draft.subscriber.trim(), draft.name.trim()];
  return { subscriber, ...(name !== '' && { name }), options: optionsIn(draft) };
}

/**
 * The PATCH that makes the changes of the form; undefined if there are none. Options that a customer may not set stay,
 * because the portal merges them; the filter has no field.
 */
export function buildPatch(before: Shown, draft: EndpointDraft): Record<string, unknown> | undefined {
  const [subscriber, name] = [draft.subscriber.trim(), draft.name.trim()];
  const [options, stored] = [optionsIn(draft), optionsIn(endpointDraft(before))];
  const { filter } = before.options;
  const patch = {
    ...(subscriber !== before.subscriber && { subscriber }),
    ...(name !== (before.name ?? '') && { name: name === '' ? null : name }),
    ...(JSON.stringify(options) !== JSON.stringify(stored) && {
      options: { ...(filter !== undefined && { filter }), ...options },
    }),
  };
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function optionsIn({ types, perSecond }: EndpointDraft): Record<string, unknown> {
  const rate = numberIn(perSecond);
  return {
    ...(types !== undefined && { event_types: types }),
    ...(rate !== undefined && { max_per_second: rate }),
  };
}
