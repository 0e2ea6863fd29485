/** The message to the page that shows this page in a frame. `height`: CSS pixels. */
type HeightMessage = { type: 'posthaste-portal-height'; height: number };

export const isFramed = window.parent !== window;

/**
 * Tells the embedding page the height of this page, now and whenever it changes. Only a page of the listed origins gets
 * the message.
 */
export function reportHeight(origins: readonly string[]): () => void {
  const listed = origins.filter(canBeParent);
  const observer = new ResizeObserver(() => {
    const height = Math.ceil(document.body.getBoundingClientRect().height);
    const message: HeightMessage = { type: 'posthaste-portal-height', height };
    for (const origin of listed) window.parent.postMessage(message, origin);
  });
  if (isFramed) observer.observe(document.body);
  return () => observer.disconnect();
}

/** Browsers log an error for a message to another origin. Firefox does not know the origin of the parent. */
function canBeParent(origin: string): boolean {
  const { ancestorOrigins } = location;
  // eslint-disable-next-line typescript/no-unnecessary-condition -- not in Firefox
  return ancestorOrigins === undefined || ancestorOrigins[0] === origin;
}
