import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import * as z from 'zod';

/** An address at which connections are never made, as behind a firewall that drops everything. */
export type BlackHole = { port: number; close: () => Promise<void> };

/** Listens, and never again lets its event loop run, so that nothing is accepted. */
const LISTENER = `
  const { parentPort, workerData } = require('node:worker_threads');
  const server = require('node:net').createServer().listen({ ...workerData, backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;

const MOST_IN_BACKLOG = 64;
/** Milliseconds, in which a connection on loopback is made if it ever is. */
const SOON_MS = 200;

/** A server on loopback whose backlog is full: the system drops what comes on top of it. */
export const startBlackHole = async (host: string): Promise<BlackHole> => {
  const worker = new Worker(LISTENER, { eval: true, workerData: { host, port: 0 } });
  const [port] = z.tuple([z.number()]).parse(await once(worker, 'message'));
  const filling: Socket[] = [];
  let isFull = false;
  while (!isFull && filling.length < MOST_IN_BACKLOG) {
    const socket = connect({ host, port }).on('error', () => undefined);
    filling.push(socket);
    isFull = (await Promise.race([once(socket, 'connect'), pause(SOON_MS)])) === undefined;
  }
  return {
    port,
    close: async () => {
      for (const socket of filling) socket.destroy();
      await worker.terminate();
    },
  };
};
