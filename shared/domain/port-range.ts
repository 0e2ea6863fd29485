/** TCP ports; both ends belong to it. */
export type PortRange = { from: number; to: number };

const FORM = /^(?<first>\d{1,5})(?:-(?<last>\d{1,5}))?$/;
const MAX_PORT = 65_535;

/** Reads `443` and `8000-9000`. Undefined: anything else, ports outside 1 to 65535, and a range that ends before it begins. */
export const parsePortRange = (text: string): PortRange | undefined => {
  const { first, last } = FORM.exec(text)?.groups ?? {};
  const from = Number(first);
  const to = Number(last ?? first);
  return from >= 1 && from <= to && to <= MAX_PORT ? { from, to } : undefined;
};

export const isWithin = (port: number, { from, to }: PortRange): boolean => port >= from && port <= to;
