/** @throws where it is not set: a handler that asks nobody would be a fast one. */
export const variable = (name: string): string => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set.`);
  return value;
};
