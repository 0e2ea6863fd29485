/** The value of at most ten digits, within bounds; undefined for anything else. */
export const wholeNumber = (text: string, least: number, most: number): number | undefined => {
  const value = Number(text);
  return /^[0-9]{1,10}$/.test(text) && value >= least && value <= most ? value : undefined;
};
