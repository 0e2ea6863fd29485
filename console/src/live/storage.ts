type KeptTexts = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** The storage of the browser, or one for this page alone where the browser forbids it: in a frame of another site. */
export function openStorage(find: () => Storage): KeptTexts {
  try {
    return find();
  } catch {
    const texts = new Map<string, string>();
    return {
      getItem: (key) => texts.get(key) ?? null,
      setItem: (key, text) => void texts.set(key, text),
      removeItem: (key) => void texts.delete(key),
    };
  }
}
