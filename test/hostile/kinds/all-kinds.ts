import { authentication } from './authentication.ts';
import { bodies } from './bodies.ts';
import { headers } from './headers.ts';
import type { Kind } from './kind.ts';
import { silence } from './silence.ts';
import { tls } from './tls.ts';

const all = { ...silence, ...headers, ...bodies, ...tls, ...authentication } as const;

export type KindName = keyof typeof all;

/** Every kind of hostile receiver by name, in the order of the table. */
export const allKinds: Readonly<Record<KindName, Kind>> = all;

export const isKindName = (name: string): name is KindName => name in allKinds;

export const kindNames: readonly KindName[] = Object.keys(allKinds).filter(isKindName);
