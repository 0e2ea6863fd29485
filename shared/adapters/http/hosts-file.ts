import type { LookupAddress } from 'node:dns';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';

/** The entries of the hosts file (hosts(5)), reread after it changes. */
export function hostsIn(file: string): () => ReadonlyMap<string, readonly LookupAddress[]> {
  let hosts = new Map<string, LookupAddress[]>();
  let readAt: number | undefined;
  return () => {
    const changedAt = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
    if (changedAt !== readAt) hosts = parseHosts(changedAt === undefined ? '' : readFileSync(file, 'utf8'));
    readAt = changedAt;
    return hosts;
  };
}

function parseHosts(text: string): Map<string, LookupAddress[]> {
  const hosts = new Map<string, LookupAddress[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    const family = isIP(address);
    if (family === 0) continue;
    for (const name of names.map((one) => one.toLowerCase()))
      hosts.set(name, [...(hosts.get(name) ?? []), { address, family }]);
  }
  return hosts;
}
