import { once } from 'node:events';
import { lstatSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Problem } from './install/problem.mjs';

/** How long a running start may take to answer, in milliseconds. */
const ANSWER_MS = 2_000;

const ANSWER = 'posthaste';

/**
 * Shows to other programs of this user that a start is running: it answers on a Unix socket, until `end`.
 * The socket is in a new folder that only this user can open. Not among the files of the project: the path of a socket
 * is limited to about 100 bytes (unix(7)).
 * @throws Problem if the socket cannot be made; nothing is left behind
 */
export async function showPresence(): Promise<{ socket: string; end: () => void }> {
  const folder = mkdtempSync(join(tmpdir(), 'posthaste-'));
  const socket = join(folder, 'running');
  const server = createServer((connection) => {
    connection.on('error', () => undefined).end(ANSWER);
  });
  const end = (): void => {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    // The folder is readable by this user alone (mkdtemp(3)).
    server.listen(socket).unref();
    await once(server, 'listening');
    return { socket, end };
  } catch (cause) {
    end();
    const text = `No socket can be made in ${tmpdir()}: set TMPDIR to a folder with a short path.`;
    throw new Problem(text, { cause });
  }
}

/** Whether the start with this socket is running, as a process of this user. */
export async function isPresent(socket: string): Promise<boolean> {
  const folder = lstatSync(dirname(socket), { throwIfNoEntry: false });
  if (folder === undefined || !folder.isDirectory() || !isPrivate(folder)) return false;
  const connection = connect(socket).setEncoding('utf8').setTimeout(ANSWER_MS);
  connection.once('timeout', () => connection.destroy());
  let said = '';
  try {
    for await (const part of connection) {
      said += String(part);
      if (said.length > ANSWER.length) break;
    }
  } catch {
    // The start that made the socket has ended.
  }
  connection.destroy();
  return said === ANSWER;
}

/** Whether a file is of this user, and no other user can read or change it. */
function isPrivate({ uid, mode }: { uid: number; mode: number }): boolean {
  return uid === process.getuid?.() && (mode & 0o077) === 0;
}
