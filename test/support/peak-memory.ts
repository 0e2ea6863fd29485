import { readFileSync } from 'node:fs';

/**
 * The most memory that this process has had, in bytes. On Linux not `maxRSS`, which begins with that of the process which
 * started this one.
 */
export function peakMemoryBytes(): number {
  const [, kilobytes] =
    process.platform === 'linux'
      ? (/^VmHWM:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [])
      : [];
  return 1024 * Number(kilobytes ?? process.resourceUsage().maxRSS);
}
