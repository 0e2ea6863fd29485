/** Time as the pipeline sees it. Milliseconds since the epoch. */
export interface Clock {
  now(): number;
  sleep(milliseconds: number): Promise<void>;
}
