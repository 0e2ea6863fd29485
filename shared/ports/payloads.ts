/** Bodies too large for a job or a record. */
export interface Payloads {
  put(payloadKey: string, text: string): Promise<void>;
  /** Undefined: there is no such object. */
  get(payloadKey: string): Promise<string | undefined>;
}
