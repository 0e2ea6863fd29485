/** What a link can allow besides seeing endpoints, their health, event types and charts. */
export const CAPABILITIES = ['manage', 'secrets', 'test', 'deliveries', 'retry'] as const;

export type Capability = (typeof CAPABILITIES)[number];

/** What a route of the portal needs; `see`: nothing besides a session. */
export type PortalRight = 'see' | Capability;
