import { createHash } from 'node:crypto';
import { createSecureContext, DEFAULT_CIPHERS, getCACertificates, type SecureContext } from 'node:tls';
import type { ClientTls } from '../../ports/subscriber.ts';
import { UnusableCertificate } from './connection-fault.ts';

/** The client's side of TLS. `name`: different for each certificate, key and authority; empty without any of them. */
export type TlsIdentity = { name: string; secureContext: SecureContext };

/** Each takes about 40 KB and a millisecond. */
const MAX_CONTEXTS = 200;

/** With the public authorities in each: 1.3 MB and 30 ms. */
const MAX_LARGE_CONTEXTS = 50;

/**
 * The identities of a process, the least recently used one forgotten first.
 * @throws UnusableCertificate from the returned function
 */
export function clientCertificates(
  trustedCertificates: readonly string[],
): (tls: ClientTls | undefined) => TlsIdentity {
  const ca =
    trustedCertificates.length === 0 ? {} : { ca: [...getCACertificates('default'), ...trustedCertificates] };
  const most = trustedCertificates.length === 0 ? MAX_CONTEXTS : MAX_LARGE_CONTEXTS;
  const anonymous = { name: '', secureContext: createSecureContext({ ...PROTOCOL, ...ca }) };
  const known = new Map<string, TlsIdentity>();

  return (tls) => {
    if (tls === undefined) return anonymous;
    const name = nameOf(tls);
    const identity = known.get(name) ?? { name, secureContext: secureContextOf(tls, ca) };
    known.delete(name);
    known.set(name, identity);
    const [oldest] = known.keys();
    if (known.size > most && oldest !== undefined) known.delete(oldest);
    return identity;
  };
}

/** No DHE: the receiver chooses the group, and one of 10,000 bits stops the process for a second at each handshake. */
const PROTOCOL = { minVersion: 'TLSv1.2', ciphers: `${DEFAULT_CIPHERS}:!DHE` } as const;

/** `ca` takes the place of the public authorities: none of them can vouch for a private receiver. */
function secureContextOf({ identity, ca }: ClientTls, trusted: { ca?: string[] }): SecureContext {
  try {
    return createSecureContext({
      ...PROTOCOL,
      ...(identity && { cert: identity.certificate, key: identity.privateKey }),
      ...(ca === undefined ? trusted : { ca }),
    });
  } catch {
    // No cause: messages of OpenSSL may quote the input.
    throw new UnusableCertificate();
  }
}

function nameOf({ identity, ca }: ClientTls): string {
  return createHash('sha256')
    .update(JSON.stringify([identity?.certificate, identity?.privateKey, ca]))
    .digest('base64');
}
