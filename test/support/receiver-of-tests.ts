import { afterAll } from 'vitest';
import { startReceiver, type Receiver } from './receiver.ts';

/** A receiver that is closed after the tests of the file. */
export const receiverOfTests = async (): Promise<Receiver> => {
  const receiver = await startReceiver();
  afterAll(receiver.close);
  return receiver;
};
