import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, isIPv6, type Server } from 'node:net';

/** A record of an answer. Its TTL is always 0, so that it must not be cached. */
export type DnsRecord = { name: string; type: 'A' | 'AAAA' | 'CNAME'; value: string };

export type DnsQuestion = { name: string; type: 'A' | 'AAAA' };

/** A response without records (RFC 1035 §4.1.1). */
export type DnsRefusal = keyof typeof RESPONSE_CODES;

/** The answer to the `time`th question of this name and type, counted from 1. Undefined: no answer. */
export type DnsAnswer = (question: DnsQuestion, time: number) => DnsResult | Promise<DnsResult>;

type DnsResult = readonly DnsRecord[] | DnsRefusal | undefined;

export type DnsServer = Awaited<ReturnType<typeof startDnsServer>>;

/**
 * A name server on loopback with scripted answers. It answers over UDP, and over TCP if the answer is too long
 * (RFC 1035 §4) and `takesTcp` is set.
 */
export const startDnsServer = async (answer: DnsAnswer, { takesTcp = true }: { takesTcp?: boolean } = {}) => {
  const asked: DnsQuestion[] = [];
  const respondTo = async (query: Buffer, send: (answered: Buffer) => void): Promise<void> => {
    const question = questionOf(query);
    if (question === undefined) return;
    asked.push(question);
    const time = asked.filter(({ name, type }) => name === question.name && type === question.type).length;
    const given = await answer(question, time);
    if (given !== undefined) send(response(query, given));
  };
  const overTcp = createServer((connection) => {
    connection.on('error', () => undefined);
    connection.on('data', (piece) => {
      void respondTo(piece.subarray(LENGTH_BYTES), (answered) => {
        const length = Buffer.alloc(LENGTH_BYTES);
        length.writeUInt16BE(answered.length);
        connection.end(Buffer.concat([length, answered]));
      });
    });
  });
  const socket = createSocket({ type: 'udp4', recvBufferSize: RECEIVE_BUFFER_BYTES });
  socket.on('message', (query, from) => {
    void respondTo(query, (answered) => {
      const sent = answered.length > MAX_UDP_BYTES ? truncated(answered) : answered;
      socket.send(sent, from.port, from.address);
    });
  });
  const port = await bindBoth(overTcp, socket);
  const tcpClosed = once(overTcp, 'close');
  if (!takesTcp) overTcp.close();
  return {
    /** In the form that `setServers` takes. */
    address: `127.0.0.1:${port}`,
    /** In order of arrival. */
    questions: () => [...asked],
    close: async (): Promise<void> => {
      socket.close();
      if (overTcp.listening) overTcp.close();
      await Promise.all([once(socket, 'close'), tcpClosed]);
    },
  };
};

/** Both get the same port. One that is free for TCP may be taken for UDP, such as by a question of another resolver. */
const bindBoth = async (overTcp: Server, socket: Socket): Promise<number> => {
  overTcp.listen(0, '127.0.0.1');
  await once(overTcp, 'listening');
  const bound = overTcp.address();
  if (bound === null || typeof bound === 'string') throw new Error('The server has no port.');
  try {
    socket.bind(bound.port, '127.0.0.1');
    await once(socket, 'listening');
    return bound.port;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    overTcp.close();
    await once(overTcp, 'close');
    return bindBoth(overTcp, socket);
  }
};

const TYPES = { A: 1, CNAME: 5, AAAA: 28 } as const;
const RESPONSE_CODES = { FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const;
const HEADER_BYTES = 12;
/** Length of the prefix that each message over TCP has. */
const LENGTH_BYTES = 2;
/** Largest message over UDP without EDNS. */
const MAX_UDP_BYTES = 512;
/** Enough for hundreds of concurrent questions. */
const RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024;
const TRUNCATED = 0x0200;
/** Bytes of type and class after the name of a question. */
const QUESTION_BYTES = 4;

const questionOf = (query: Buffer): DnsQuestion | undefined => {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = query.readUInt16BE(at + 1);
  const name = labels.join('.').toLowerCase();
  if (type === TYPES.A) return { name, type: 'A' };
  return type === TYPES.AAAA ? { name, type: 'AAAA' } : undefined;
};

/** A response with the id and the question of the query. */
const response = (query: Buffer, given: readonly DnsRecord[] | DnsRefusal): Buffer => {
  const [code, records] = typeof given === 'string' ? [RESPONSE_CODES[given], []] : [0, given];
  const endOfQuestion = query.indexOf(0, HEADER_BYTES) + 1 + QUESTION_BYTES;
  const header = Buffer.from(query.subarray(0, HEADER_BYTES));
  // A response, authoritative, recursion available; one question, no authority, nothing additional.
  header.writeUInt16BE(0x8580 | code, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  header.writeUInt32BE(0, 8);
  return Buffer.concat([header, query.subarray(HEADER_BYTES, endOfQuestion), ...records.map(encoded)]);
};

const truncated = (message: Buffer): Buffer => {
  const cut = Buffer.from(message.subarray(0, message.indexOf(0, HEADER_BYTES) + 1 + QUESTION_BYTES));
  cut.writeUInt16BE(cut.readUInt16BE(2) | TRUNCATED, 2);
  cut.writeUInt16BE(0, 6);
  return cut;
};

const encoded = ({ name, type, value }: DnsRecord): Buffer => {
  const data = type === 'CNAME' ? encodedName(value) : encodedAddress(value);
  const head = Buffer.alloc(10);
  head.writeUInt16BE(TYPES[type], 0);
  head.writeUInt16BE(1, 2);
  head.writeUInt32BE(0, 4);
  head.writeUInt16BE(data.length, 8);
  return Buffer.concat([encodedName(name), head, data]);
};

const encodedName = (name: string): Buffer =>
  Buffer.concat([
    ...name.split('.').map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label)])),
    Buffer.of(0),
  ]);

/** Encodes IPv4, or IPv6 in full or with one `::`, without dots. */
const encodedAddress = (address: string): Buffer => {
  if (!isIPv6(address)) return Buffer.from(address.split('.').map(Number));
  const [head = [], tail = []] = address.split('::').map((half) => half.split(':').filter(Boolean));
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  const groups = [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16));
  return Buffer.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
};
