import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';

/** One record of an answer; its TTL is always 0, so that nobody may keep it. */
export type DnsRecord = { name: string; type: 'A' | 'AAAA' | 'CNAME'; value: string };

export type DnsQuestion = { name: string; type: 'A' | 'AAAA' };

/** The answer to the `time`th question of this name and type, from 1. Undefined: no answer at all. */
export type DnsAnswer = (question: DnsQuestion, time: number) => readonly DnsRecord[] | undefined;

export type DnsServer = {
  /** As `setServers` takes it. */
  address: string;
  /** In the order in which they came. */
  questions: () => readonly DnsQuestion[];
  close: () => Promise<void>;
};

/** A name server on loopback that answers over UDP as it is told (RFC 1035 §4). */
export const startDnsServer = async (answer: DnsAnswer): Promise<DnsServer> => {
  const asked: DnsQuestion[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    const question = questionOf(query);
    if (question === undefined) return;
    asked.push(question);
    const time = asked.filter(({ name, type }) => name === question.name && type === question.type).length;
    const records = answer(question, time);
    if (records !== undefined) socket.send(response(query, records), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    questions: () => [...asked],
    close: async () => {
      socket.close();
      await once(socket, 'close');
    },
  };
};

const TYPES = { A: 1, CNAME: 5, AAAA: 28 } as const;
const HEADER_BYTES = 12;
/** Of what follows the name in a question: type and class. */
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

/** With the id and the question of the query. */
const response = (query: Buffer, records: readonly DnsRecord[]): Buffer => {
  const endOfQuestion = query.indexOf(0, HEADER_BYTES) + 1 + QUESTION_BYTES;
  const header = Buffer.from(query.subarray(0, HEADER_BYTES));
  // A response, authoritative, recursion available, no error; one question, no authority, nothing additional.
  header.writeUInt16BE(0x8580, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  header.writeUInt32BE(0, 8);
  return Buffer.concat([header, query.subarray(HEADER_BYTES, endOfQuestion), ...records.map(encoded)]);
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

/** IPv6 in full or with one `::`, without dots. */
const encodedAddress = (address: string): Buffer => {
  if (!isIPv6(address)) return Buffer.from(address.split('.').map(Number));
  const [head = [], tail = []] = address.split('::').map((half) => half.split(':').filter(Boolean));
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  const groups = [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16));
  return Buffer.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
};
