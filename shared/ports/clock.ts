/** Time source of the pipeline. Milliseconds since the epoch. */
export interface Clock {
  now(): number;
  sleep(milliseconds: number): Promise<void>;
}
