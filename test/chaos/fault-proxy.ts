import { Agent, createServer, request as send } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Chance } from '../simulation/chance.ts';
import type { FaultTally } from './fault-tally.ts';

/** How often a call of a function's to AWS fails. */
const PROBABILITY = 0.06;

/** Of those, how often every repeat of it by the SDK fails as well, so that the function meets the failure. */
const PERSISTENT = 0.4;

const FAULTS = ['call_failed_before', 'call_cut_before', 'call_failed_after', 'call_cut_after'] as const;
type Fault = (typeof FAULTS)[number];

export type FaultProxy = {
  origin: string;
  /** Without faults it passes everything on. */
  setFaulty: (isFaulty: boolean) => void;
  close: () => Promise<void>;
};

/**
 * Stands between the functions and AWS. A share of the calls fails: before its effect, or after it, so that its answer is
 * lost; by status 500, or by a closed connection.
 */
export const startFaultProxy = async (
  target: string,
  chance: Chance,
  tally: FaultTally,
): Promise<FaultProxy> => {
  const agent = new Agent({ keepAlive: true });
  /** Calls that a fault was planned for, by the SDK's own id, which its repeats share. */
  const planned = new Map<string, { isPersistent: boolean }>();
  let isFaulty = false;

  const faultFor = ({ headers }: IncomingMessage): Fault | undefined => {
    const id = headers['amz-sdk-invocation-id'];
    if (!isFaulty || typeof id !== 'string') return undefined;
    const plan = planned.get(id);
    if (plan !== undefined) return plan.isPersistent ? chance.pick(FAULTS) : undefined;
    if (!chance.happens(PROBABILITY)) return undefined;
    planned.set(id, { isPersistent: chance.happens(PERSISTENT) });
    return chance.pick(FAULTS);
  };

  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await bytesOf(incoming);
    const fault = faultFor(incoming);
    if (fault !== undefined) tally.count(fault);
    if (fault === 'call_cut_before' || fault === 'call_failed_before') {
      fail(fault, response);
      return;
    }
    const answer = await forwarded(target, agent, incoming, body);
    const content = await bytesOf(answer);
    if (fault !== undefined) fail(fault, response);
    else response.writeHead(answer.statusCode ?? 502, answer.rawHeaders).end(content);
  };

  const server = createServer({ keepAliveTimeout: 60_000 }, (incoming, response) => {
    // A caller that was killed in the middle of its call, or the emulator gone: to the caller, a cut connection.
    serve(incoming, response).catch(() => response.destroy());
  });
  const port = await listening(server);
  return {
    origin: `http://127.0.0.1:${port}`,
    setFaulty: (value) => {
      isFaulty = value;
    },
    close: async () => {
      agent.destroy();
      await closed(server);
    },
  };
};

const fail = (fault: Fault, response: ServerResponse): void => {
  if (fault === 'call_cut_before' || fault === 'call_cut_after') response.socket?.resetAndDestroy();
  else response.writeHead(500).end();
};

/** With the host that the caller signed. */
const forwarded = (
  target: string,
  agent: Agent,
  { method, url, rawHeaders }: IncomingMessage,
  body: Buffer,
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const path = url ?? '/';
    const { hostname, port } = new URL(target);
    send({ hostname, port, path, method, headers: rawHeaders, agent })
      .once('response', resolve)
      .once('error', reject)
      .end(body);
  });

const bytesOf = async (message: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of message) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  return Buffer.concat(chunks);
};

const listening = (server: Server): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string') reject(new Error('The proxy has no port.'));
      else resolve(address.port);
    });
  });

const closed = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
    server.closeAllConnections();
  });
