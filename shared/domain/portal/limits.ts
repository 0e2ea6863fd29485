import type { FieldError } from '../errors.ts';

/** Endpoints that a queue can have, unless the deployment says otherwise. */
export const PORTAL_MAX_ENDPOINTS = 10;

/** What a deployment allows the tenants of its portal. */
export type PortalLimits = {
  /** Endpoints that a queue can have. */
  endpoints: number;
  /** Hosts of endpoints; `*.example.com` stands for all below it. @default any */
  hosts?: readonly string[];
  /** The highest rate limit, which is also that of endpoints without one. @default none */
  perSecond?: number;
};

/** The options that a tenant chooses. */
export const TENANT_OPTIONS = ['event_types', 'filter', 'max_per_second'] as const;

export type TenantOptions = Partial<Record<(typeof TENANT_OPTIONS)[number], unknown>>;

export function hostFaults(subscriber: string, { hosts }: PortalLimits): FieldError[] {
  // A receiver that fetches needs a token, which no page gives out.
  const host = /^https?:/i.test(subscriber) ? URL.parse(subscriber)?.hostname : undefined;
  if (host === undefined) return [{ field: 'subscriber', message: 'must be an http or https URL' }];
  if (hosts === undefined || hosts.some((allowed) => isHostOf(host, allowed))) return [];
  return [{ field: 'subscriber', message: `must be on one of these hosts: ${hosts.join(', ')}` }];
}

function isHostOf(host: string, allowed: string): boolean {
  return allowed.startsWith('*.') ? host.endsWith(allowed.slice(1)) : host === allowed;
}

/** What is wrong with the options of an endpoint. `eventTypes`: those of the session. */
export function optionFaults(
  { event_types, max_per_second }: TenantOptions,
  { perSecond = Infinity }: PortalLimits,
  eventTypes: readonly string[] | undefined,
): FieldError[] {
  return [
    ...(eventTypes === undefined ? [] : eventTypeFaults(event_types, eventTypes)),
    ...(typeof max_per_second === 'number' && max_per_second > perSecond
      ? [{ field: 'options.max_per_second', message: `must be at most ${perSecond}` }]
      : []),
  ];
}

function eventTypeFaults(chosen: unknown, allowed: readonly string[]): FieldError[] {
  const types: ReadonlySet<unknown> = new Set(allowed);
  const areAllowed = Array.isArray(chosen) && chosen.length > 0 && chosen.every((type) => types.has(type));
  return areAllowed
    ? []
    : [{ field: 'options.event_types', message: `must be among: ${allowed.join(', ')}` }];
}

/** The options with what an endpoint has without a choice. `eventTypes`: those of the session; without them it gets all. */
export function withDefaults(
  options: TenantOptions,
  { perSecond }: PortalLimits,
  eventTypes: readonly string[] | undefined,
): TenantOptions {
  return {
    ...(perSecond !== undefined && { max_per_second: perSecond }),
    ...(eventTypes && { event_types: eventTypes }),
    ...options,
  };
}
