import { join } from 'node:path';
import { type CallLogEntry, readCallLog } from '../../test/support/call-log.ts';
import { runFolder } from '../../test/support/run-folder.ts';
import type { BenchMeans } from '../harness/command.ts';
import { type Deployed, startDeployed } from '../harness/deployed.ts';

/** The deployed system, as callers of its API see it, and its call log. */
export type ApiWorld = Deployed & {
  signal: AbortSignal;
  say: (line: string) => void;
  /** All calls and invocations since a time. */
  logSince: (at: number) => readonly CallLogEntry[];
  call: (
    method: string,
    path: string,
    body?: object,
    bearer?: string,
  ) => Promise<{ status: number; text: string }>;
};

/** `apiConcurrency`. More processes do not fit on a laptop. */
export const RESERVED = 10;

export async function startApiWorld({ stack, signal, say }: BenchMeans): Promise<ApiWorld> {
  const folder = runFolder('neighbours');
  const callLog = join(folder, 'calls.jsonl');
  const settings = { apiConcurrency: String(RESERVED) };
  const deployed = await startDeployed(stack, { folder, settings, callLog, signal });
  return {
    ...deployed,
    signal,
    say,
    logSince: (from) => readCallLog(callLog).filter(({ at }) => at >= from),
    call: async (method, path, body, bearer) => {
      const headers = {
        'content-type': 'application/json',
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      };
      const request = { method, headers, signal, ...(body && { body: JSON.stringify(body) }) };
      const response = await fetch(`${deployed.endpoints.apiUrl}${path}`, request);
      return { status: response.status, text: await response.text() };
    },
  };
}

/** The most invocations of a function that ran at once. */
export function mostAtOnce(entries: readonly CallLogEntry[], functionName: string): number {
  const edges = entries.flatMap((entry) =>
    entry.kind === 'invocation' && entry.function === functionName
      ? [
          { at: entry.at - entry.ms, change: 1 },
          { at: entry.at, change: -1 },
        ]
      : [],
  );
  let [running, most] = [0, 0];
  for (const { change } of edges.toSorted((one, other) => one.at - other.at || one.change - other.change))
    most = Math.max(most, (running += change));
  return most;
}
